"""Pours a script into the released notebook, so that nbgrader shows it like any other submission.

Where a learner hands in both, sources/handins.py says which of them counts. Pour a folder by hand
with `python -m tensorgrade.nbgrader_plugin.pouring submitted`.
"""

import sys
from pathlib import Path
from typing import Protocol

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_locked

from ..attempts.setup import Setup
from ..runner.reading import parts
from ..runner.source import Unreadable, decode
from ..sources.handins import Handin

REST = "from-script"
UNREADABLE = ".unreadable"  # a name that nbgrader does not take for a notebook
Part = tuple[list[str], str]  # the names that a statement binds, and its text


class Reader(Protocol):
    """Reads what learners wrote, somewhere where nothing can happen."""

    def name_of_source(self, handin: Handin) -> str:
        """The name of the file that counts; empty where none can be read."""

    def parts(self, text: str) -> list[Part]:
        """The top-level statements of a script; none where it cannot be read."""


def pour_all(submitted: Path, release: Path, reader: Reader, chapter: str = "*") -> list[Path]:
    """Pour each script in `submitted/<student>/<chapter>/` that counts; returns the notebooks."""
    poured = []
    for script in sorted(submitted.glob(f"*/{chapter}/*.py")):
        name = script.parent.name
        released = release / name / f"{name}.ipynb"
        if script.stem == name and released.is_file() and script_counts(script, reader):
            notebook = script.with_suffix(".ipynb")
            if notebook.exists():
                make_way(notebook, reader)
            found = reader.parts(text_of(script.read_bytes(), script.name))
            nbformat.write(pour(found, released), notebook)
            poured.append(notebook)
    return poured


def script_counts(script: Path, reader: Reader) -> bool:
    """Whether a script is what counts: no notebook is beside it, or not the one that counts.

    A link is never replaced.
    """
    notebook = script.with_suffix(".ipynb")
    if script.is_symlink() or notebook.is_symlink():
        return False
    if not notebook.exists():
        return True
    chapter, content = script.parent.name, notebook.read_bytes()
    both = Handin("", chapter, notebook.name, content, script=script.read_bytes())
    return Path(reader.name_of_source(both)).suffix == ".py"


def make_way(notebook: Path, reader: Reader) -> None:
    """Keep a notebook that no rule can read under another name: somebody may mend it by hand."""
    alone = Handin("", notebook.stem, notebook.name, notebook.read_bytes())
    if not reader.name_of_source(alone):
        notebook.rename(notebook.with_name(f"{notebook.name}{UNREADABLE}"))


def text_of(content: bytes, name: str) -> str:
    """Bytes as text; where they are no text, a comment that says so."""
    try:
        return decode(content, name)
    except Unreadable as error:
        return f"# {error}\n"


def pour(script: list[Part], released: Path) -> NotebookNode:
    """The released notebook with a script's definitions in its solution cells.

    What is no exercise goes into a cell of its own in front of the first of them, unless the
    notebook says the same already.
    """
    nb = nbformat.read(released, as_version=4)
    answers = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells if is_open(cell)}
    known = {
        text for cell in nb.cells if cell.cell_type == "code" for _, text in parts(cell.source)
    }
    rest = []
    for names, text in script:
        cell = answers.get(next((name for name in names if name in answers), None))
        if cell is not None:
            cell.source = text
        elif text not in known:
            rest.append(text)
    if rest:
        first = next(i for i, cell in enumerate(nb.cells) if is_open(cell))
        nb.cells.insert(first, nbformat.v4.new_code_cell("\n\n".join(rest), id=REST))
    return nb


def is_open(cell: NotebookNode) -> bool:
    """Whether a cell is there to be written in, or to be mended: marked, and not locked."""
    return "nbgrader" in cell.metadata and not is_locked(cell)


def script_behind(nb: NotebookNode, script: Path, released: Path, reader: Reader) -> bytes | None:
    """The script that a notebook was poured from, to be graded as it is; None if it was not.

    Nothing in the notebook is believed: the script is poured again, and has to give the same.
    """
    if not script.is_file() or script.is_symlink() or not released.is_file():
        return None
    content = script.read_bytes()
    again = pour(reader.parts(text_of(content, script.name)), released)
    return content if answers_in(again) == answers_in(nb) else None


def answers_in(nb: NotebookNode) -> list[str]:
    """The sources of the cells that pouring fills."""
    return [cell.source for cell in nb.cells if is_open(cell) or cell.get("id") == REST]


def main(submitted: str, release: str = "release") -> None:
    """Pour a folder by hand."""
    from .warm_grader import ReadApart

    reader = ReadApart(Setup(Path("graders").resolve()))
    for made in pour_all(Path(submitted), Path(release), reader):
        print(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
