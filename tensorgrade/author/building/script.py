"""Reads a chapter's literate source: lesson text, exercises and hints, cell by cell."""

import re
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ...course import CourseError
from ...views.formulas import in_plain_text

HINT = re.compile(r"^\s*\d+\.\s+", re.MULTILINE)
REGION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION.*?### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE
)
STUB = r"\1raise NotImplementedError"


@dataclass(frozen=True)
class Script:
    """A chapter's cells, and what is marked in them. pictures: the folder with its drawings."""

    notebook: NotebookNode
    pictures: Path = Path("pictures")

    @property
    def exercises(self) -> dict[str, NotebookNode]:
        """The exercises' cells by name, in the order in which they stand."""
        return {c.metadata["exercise"]: c for c in self.notebook.cells if "exercise" in c.metadata}

    @property
    def hints(self) -> dict[str, tuple[str, ...]]:
        """Each exercise's ladder of hints."""
        return {
            cell.metadata["hints"]: tuple(split_hints(cell.source))
            for cell in self.notebook.cells
            if "hints" in cell.metadata
        }

    def of(self, exercises: Collection[str]) -> "Script":
        """The script of these exercises alone: without the others' cells and hints, the text right
        before each of them, and demonstrations that use the others.
        """
        dropped, all_cells = self.exercises.keys() - set(exercises), self.notebook.cells
        before = [
            cell
            for cell, after in pairwise(all_cells)
            if after.metadata.get("exercise") in dropped and cell.cell_type == "markdown"
        ]
        left_out = [cell for cell in all_cells if is_about(cell, dropped)] + before
        cells = [cell for cell in all_cells if not any(cell is one for one in left_out)]
        return Script(NotebookNode(self.notebook | {"cells": cells}), self.pictures)

    def given(self, code: Mapping[str, str]) -> "Script":
        """The script with code that learners are given to mend, kept beside the solutions."""
        cells = [
            NotebookNode(cell | {"metadata": cell.metadata | {"given": code[name]}})
            if (name := cell.metadata.get("exercise")) in code
            else cell
            for cell in self.notebook.cells
        ]
        return Script(NotebookNode(self.notebook | {"cells": cells}), self.pictures)

    @property
    def ending(self) -> str:
        """What one can do who has finished the chapter: the cell marked so, without its heading."""
        cells = (c.source for c in self.notebook.cells if "ending" in c.metadata)
        return " ".join(next(cells, "").partition("\n")[2].split())


def is_about(cell: NotebookNode, names: Collection[str]) -> bool:
    """Whether a cell is the code or the hints of one of these exercises, or shows one at work."""
    marked = {cell.metadata.get("exercise"), cell.metadata.get("hints")} & set(names)
    shows = "active" in cell.metadata and set(re.findall(r"\w+", cell.source)) & set(names)
    return bool(marked or shows)


def read_script(path: Path) -> Script:
    """The script in a file. Raises CourseError where it is missing."""
    if not path.exists():
        raise CourseError(f"{path} is missing")
    notebook = notebook_of(path.read_text(encoding="utf-8"))
    return Script(deepcopy(notebook), path.parent / "pictures")


@lru_cache(maxsize=32)  # a build reads each chapter several times
def notebook_of(text: str) -> NotebookNode:
    """The cells of a literate source."""
    return jupytext.reads(text, fmt="py:percent")


def split_hints(text: str) -> list[str]:
    """The items of a numbered list, each on one line.

    >>> split_hints("1. Look at\\n   the axes.\\n2. Sum.")
    ['Look at the axes.', 'Sum.']
    """
    return [" ".join(item.split()) for item in HINT.split(text) if item.strip()]


def without_solutions(source: str) -> str:
    """Source with every solution region replaced by `raise NotImplementedError`.

    >>> without_solutions("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION")
    'def f():\\n    raise NotImplementedError'
    """
    return REGION.sub(STUB, source)


HEADER = """\
# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

"""
PICTURE = re.compile(r"!\[([^\]]*)\]\(pictures/([\w-]+\.png)\)")
WIDTH = 98


def stub_text(script: Script) -> str:
    """The stub as a percent script.

    Hints are left out (they are asked for one by one), and so are cells that only a notebook can
    show.
    """
    kept = [
        c for c in script.notebook.cells if "hints" not in c.metadata and "active" not in c.metadata
    ]
    cells = [
        new_markdown_cell(readable(cell.source))
        if cell.cell_type == "markdown"
        else new_code_cell(cell.metadata.get("given") or without_solutions(cell.source))
        for cell in kept
    ]
    text = jupytext.writes(new_notebook(cells=cells), fmt="py:percent")
    return HEADER + text[text.index("# %%") :]


def readable(lesson: str) -> str:
    """A lesson's text as it can be read in an editor: formulas in plain text, pictures told.

    >>> print(readable("The root $\\\\sqrt{n_x}$.\\n\\n![Two arrows.](pictures/angle.png)"))
    The root √n_x.
    <BLANKLINE>
    [Picture: Two arrows.]
    """
    return PICTURE.sub(told, in_plain_text(lesson))


def told(picture: re.Match) -> str:
    """What a picture shows, in words, no wider than the text around it."""
    return fill(f"[Picture: {picture[1]}]", WIDTH)
