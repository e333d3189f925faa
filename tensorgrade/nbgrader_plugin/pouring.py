"""Pours a script into the released notebook, so that nbgrader shows it like any other submission.

Where a learner hands in both, sources/handins.py says which of them counts. Pour a folder by hand
with `python -m tensorgrade.nbgrader_plugin.pouring submitted`.
"""

import ast
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_solution

from ..runner.loading import bound_names, top_level_blocks
from ..sources.handins import notebook_counts
from ..sources.submission import Unreadable, decode

REST = "from-script"
UNREADABLE = ".unreadable"  # a name that nbgrader does not take for a notebook


def pour_all(submitted: Path, release: Path, chapter: str = "*") -> list[Path]:
    """Pour each script in `submitted/<student>/<chapter>/` that counts; returns the notebooks."""
    poured = []
    for script in sorted(submitted.glob(f"*/{chapter}/*.py")):
        name = script.parent.name
        released = release / name / f"{name}.ipynb"
        if script.stem == name and released.is_file() and script_counts(script, released):
            notebook = script.with_suffix(".ipynb")
            if notebook.exists():
                make_way(notebook)
            nbformat.write(pour(text_of(script.read_bytes(), script.name), released), notebook)
            poured.append(notebook)
    return poured


def script_counts(script: Path, released: Path) -> bool:
    """Whether a script is what counts: no notebook is beside it, or not the one that counts.

    A link is never replaced.
    """
    notebook = script.with_suffix(".ipynb")
    if script.is_symlink() or notebook.is_symlink():
        return False
    if not notebook.exists():
        return True
    return not notebook_counts(notebook.read_bytes(), exercises_in(released))


def exercises_in(released: Path) -> set[str]:
    """The names of a chapter's exercises: its notebook has a cell to write in for each."""
    nb = nbformat.read(released, as_version=4)
    return {cell.metadata.nbgrader.grade_id for cell in nb.cells if is_solution(cell)}


def make_way(notebook: Path) -> None:
    """Keep a notebook that no rule can read under another name: somebody may mend it by hand."""
    try:
        nbformat.read(notebook, as_version=4)
    except Exception:  # nbformat and its validators fail in many ways
        notebook.rename(notebook.with_name(f"{notebook.name}{UNREADABLE}"))


def text_of(content: bytes, name: str) -> str:
    """Bytes as text; where they are no text, a comment that says so."""
    try:
        return decode(content, name)
    except Unreadable as error:
        return f"# {error}\n"


def pour(script: str, released: Path) -> NotebookNode:
    """The released notebook with a script's definitions in its solution cells.

    What is no exercise goes into a cell of its own in front of the first of them, unless the
    notebook says the same already.
    """
    nb = nbformat.read(released, as_version=4)
    answers = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells if is_solution(cell)}
    known = {
        text for cell in nb.cells if cell.cell_type == "code" for _, text in parts(cell.source)
    }
    rest = []
    for names, text in parts(script):
        cell = answers.get(next((name for name in names if name in answers), None))
        if cell is not None:
            cell.source = text
        elif text not in known:
            rest.append(text)
    if rest:
        first = next(i for i, cell in enumerate(nb.cells) if is_solution(cell))
        nb.cells.insert(first, nbformat.v4.new_code_cell("\n\n".join(rest), id=REST))
    return nb


def parts(source: str) -> list[tuple[list[str], str]]:
    """(names, text) of each top-level statement; of blocks, where the source does not parse."""
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        blocks = [text.strip("\n") for _, text in top_level_blocks(source)]
        return [
            (names_of(text), text) for text in blocks if text.strip() and not text.startswith("#")
        ]
    lines = source.split("\n")
    spans = [(first_line(statement), statement.end_lineno, statement) for statement in statements]
    return [(bound_names(s), "\n".join(lines[first - 1 : last])) for first, last, s in spans]


def first_line(statement: ast.stmt) -> int:
    """The line where a statement begins, decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def names_of(block: str) -> list[str]:
    """The name that a block defines which may be broken.

    >>> names_of("@torch.no_grad()\\nclass A(:")
    ['A']
    """
    lines = (line.split() for line in block.split("\n") if line.startswith(("def ", "class ")))
    return [words[1].split("(")[0].split(":")[0] for words in lines if len(words) > 1]


def script_behind(nb: NotebookNode, script: Path, released: Path) -> bytes | None:
    """The script that a notebook was poured from, to be graded as it is; None if it was not.

    Nothing in the notebook is believed: the script is poured again, and has to give the same.
    """
    if not script.is_file() or script.is_symlink() or not released.is_file():
        return None
    content = script.read_bytes()
    again = pour(text_of(content, script.name), released)
    return content if answers_in(again) == answers_in(nb) else None


def answers_in(nb: NotebookNode) -> list[str]:
    """The sources of the cells that pouring fills."""
    return [cell.source for cell in nb.cells if is_solution(cell) or cell.get("id") == REST]


if __name__ == "__main__":
    for made in pour_all(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "release")):
        print(made)
