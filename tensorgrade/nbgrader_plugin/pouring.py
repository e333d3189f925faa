"""Pours a script into the released notebook, so that nbgrader shows it like any other submission.

Where a learner hands in both, the notebook counts if at least one exercise is written in it, and
the script otherwise. (Who fetches a chapter and works in a script hands in an untouched notebook
beside it.) Pour a folder by hand with `python -m tensorgrade.nbgrader_plugin.pouring submitted`.
"""

import ast
import sys
from pathlib import Path

import nbformat
from nbgrader.utils import is_solution

from ..extracting import source_from_notebook, written
from ..runner.loading import bound_names, top_level_blocks
from ..submission import Unreadable, decode

REST = "from-script"


def pour_all(submitted: Path, release: Path, chapter: str = "*") -> list[Path]:
    """Pour each script in `submitted/<student>/<chapter>/` that counts; returns the notebooks."""
    poured = []
    for script in sorted(submitted.glob(f"*/{chapter}/*.py")):
        name = script.parent.name
        released = release / name / f"{name}.ipynb"
        if script.stem == name and released.is_file() and script_counts(script):
            notebook = script.with_suffix(".ipynb")
            nbformat.write(pour(text_of(script.read_bytes(), script.name), released), notebook)
            poured.append(notebook)
    return poured


def script_counts(script: Path) -> bool:
    """Whether a script is what counts: no notebook is beside it, or nothing is written in that.

    Neither a link nor a notebook that cannot be read is replaced.
    """
    notebook = script.with_suffix(".ipynb")
    if script.is_symlink() or notebook.is_symlink():
        return False
    if not notebook.exists():
        return True
    try:
        return not written(
            source_from_notebook(text_of(notebook.read_bytes(), notebook.name), notebook.name)
        )
    except Unreadable:
        return False


def text_of(content: bytes, name: str) -> str:
    """Bytes as text; where they are no text, a comment that says so."""
    try:
        return decode(content, name)
    except Unreadable as error:
        return f"# {error}\n"


def pour(script: str, released: Path):
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
    heads = (line.split() for line in block.split("\n") if line.startswith(("def ", "class ")))
    return [head[1].split("(")[0].split(":")[0] for head in heads if len(head) > 1]


def script_behind(nb, script: Path, released: Path) -> bytes | None:
    """The script that a notebook was poured from, to be graded as it is; None if it was not.

    Nothing in the notebook is believed: the script is poured again, and has to give the same.
    """
    if not script.is_file() or script.is_symlink() or not released.is_file():
        return None
    content = script.read_bytes()
    again = pour(text_of(content, script.name), released)
    return content if answers_in(again) == answers_in(nb) else None


def answers_in(nb) -> list[str]:
    """The sources of the cells that pouring fills."""
    return [cell.source for cell in nb.cells if is_solution(cell) or cell.get("id") == REST]


if __name__ == "__main__":
    for made in pour_all(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "release")):
        print(made)
