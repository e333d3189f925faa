"""Convert scripts to notebooks based on the released one, so that nbgrader can show them.

If a learner submits both, sources/submitted_files.py decides which of them counts. To convert a
folder manually, run `python -m tensorgrade.nbgrader_plugin.script_to_notebook submitted`.
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
from ..sources.submitted_files import SubmittedFiles

REST = "from-script"
UNREADABLE = ".unreadable"  # a suffix that keeps nbgrader from reading the file as a notebook
Part = tuple[list[str], str]  # the names that a statement binds, and its text


class Reader(Protocol):
    """A reader that parses learners' files where they can do no harm."""

    def name_of_source(self, submitted_files: SubmittedFiles) -> str:
        """Return the name of the file that counts; an empty one if none can be read."""

    def parts(self, text: str) -> list[Part]:
        """Return the top-level statements of a script; none if it cannot be read."""


def convert_all(submitted: Path, release: Path, reader: Reader, chapter: str = "*") -> list[Path]:
    """Convert each script in `submitted/<student>/<chapter>/` that counts; return the notebooks."""
    converted = []
    for script in sorted(submitted.glob(f"*/{chapter}/*.py")):
        name = script.parent.name
        released = release / name / f"{name}.ipynb"
        if script.stem == name and released.is_file() and script_counts(script, reader):
            notebook = script.with_suffix(".ipynb")
            if notebook.exists():
                make_way(notebook, reader)
            found = reader.parts(text_of(script.read_bytes(), script.name))
            nbformat.write(to_notebook(found, released), notebook)
            converted.append(notebook)
    return converted


def script_counts(script: Path, reader: Reader) -> bool:
    """Return True if a script counts: there is no notebook, or the notebook does not count.

    A link is never replaced.
    """
    notebook = script.with_suffix(".ipynb")
    if script.is_symlink() or notebook.is_symlink():
        return False
    if not notebook.exists():
        return True
    chapter, content = script.parent.name, notebook.read_bytes()
    both = SubmittedFiles("", chapter, notebook.name, content, script=script.read_bytes())
    return Path(reader.name_of_source(both)).suffix == ".py"


def make_way(notebook: Path, reader: Reader) -> None:
    """Rename a notebook that cannot be read instead of replacing it, so it can be fixed later."""
    alone = SubmittedFiles("", notebook.stem, notebook.name, notebook.read_bytes())
    if not reader.name_of_source(alone):
        notebook.rename(notebook.with_name(f"{notebook.name}{UNREADABLE}"))


def text_of(content: bytes, name: str) -> str:
    """Decode bytes to text; if that fails, return a comment with the error."""
    try:
        return decode(content, name)
    except Unreadable as error:
        return f"# {error}\n"


def to_notebook(script: list[Part], released: Path) -> NotebookNode:
    """Put a script's definitions into the solution cells of the released notebook.

    Other statements go into one new cell before the first solution cell, unless the notebook
    already contains them.
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
    """Return True if learners may edit a cell: it has nbgrader's marks and is not locked."""
    return "nbgrader" in cell.metadata and not is_locked(cell)


def script_behind(nb: NotebookNode, script: Path, released: Path, reader: Reader) -> bytes | None:
    """Return the script that a notebook was converted from; None if there was none.

    The notebook is not trusted: the script is converted again, and the results must be equal.
    """
    if not script.is_file() or script.is_symlink() or not released.is_file():
        return None
    content = script.read_bytes()
    again = to_notebook(reader.parts(text_of(content, script.name)), released)
    return content if answers_in(again) == answers_in(nb) else None


def answers_in(nb: NotebookNode) -> list[str]:
    """Return the sources of the cells that `to_notebook` fills."""
    return [cell.source for cell in nb.cells if is_open(cell) or cell.get("id") == REST]


def main(submitted: str, release: str = "release") -> None:
    """Convert the scripts of a folder from the command line."""
    from .warm_grader import ReadApart

    reader = ReadApart(Setup(Path("graders").resolve()))
    for made in convert_all(Path(submitted), Path(release), reader):
        print(made)


if __name__ == "__main__":
    main(*sys.argv[1:])
