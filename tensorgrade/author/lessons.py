"""Read a chapter's literate source cell by cell: lesson text, exercises, hints and bugs."""

import ast
import re
from collections.abc import Collection
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from textwrap import fill

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ..attempts.attempt import MOST_CHANGED
from ..course import Chapter, CourseError
from ..project import EXERCISE, Project
from ..recognition.edits import reached
from ..runner.facts import changes
from ..runner.syntax import bound_names
from ..views.formulas import in_plain_text

MARKER = re.compile(r"^# ?%%")
REGION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION.*?### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE
)
STUB = r"\1raise NotImplementedError"
MARKS = re.compile(r"^[ \t]*### (BEGIN|END) SOLUTION[ \t]*\n", re.MULTILINE)
# A line of a solution, and the wrong line that learners get in its place.
BUG = re.compile(r"^([ \t]*)(.*?)[ \t]*### BUG: (.*)$", re.MULTILINE)
HEADER = """\
# `tensorgrade read` opens this lesson as a page, with its formulas and pictures. The chapter's
# notebook has the same text and exercises, and cells to try things out.

"""
PICTURE = re.compile(r"!\[([^\]]*)\]\(pictures/([\w-]+\.png)\)")
WIDTH = 98
LONGEST = MOST_CHANGED * 2 // 3  # for the shortest repair, so that longer ones are allowed too


@dataclass(frozen=True)
class Script:
    """A chapter's cells with their markers. pictures: the folder with its drawings."""

    notebook: NotebookNode
    pictures: Path = Path("pictures")

    @property
    def exercises(self) -> dict[str, NotebookNode]:
        """Return the exercises' cells by name, in the order of the source."""
        return {c.metadata["exercise"]: c for c in self.notebook.cells if "exercise" in c.metadata}

    def of(self, exercises: Collection[str]) -> "Script":
        """Return the script of these exercises only.

        The cells and hints of the other exercises are left out, with the text right before each of
        them and the demonstrations that use them.
        """
        dropped, cells = self.exercises.keys() - set(exercises), self.notebook.cells
        before = [
            cell.cell_type == "markdown" and after.metadata.get("exercise") in dropped
            for cell, after in pairwise([*cells, NotebookNode(metadata={})])
        ]
        kept = [
            c for c, out in zip(cells, before, strict=True) if not (out or is_about(c, dropped))
        ]
        return Script(NotebookNode(self.notebook | {"cells": kept}), self.pictures)


def is_about(cell: NotebookNode, names: Collection[str]) -> bool:
    """Return True if a cell holds code or hints of one of these exercises, or demonstrates one."""
    marked = {cell.metadata.get("exercise"), cell.metadata.get("hints")} & set(names)
    shows = "active" in cell.metadata and set(re.findall(r"\w+", cell.source)) & set(names)
    return bool(marked or shows)


def read_script(path: Path) -> Script:
    """Return the script in a file. Raise CourseError if it is missing."""
    if not path.exists():
        raise CourseError(f"{path} is missing")
    text = path.read_text(encoding="utf-8")
    notebook = notebook_of(text)
    check_markers(path, text, notebook.cells)
    return Script(deepcopy(notebook), path.parent / "pictures")


@lru_cache(maxsize=32)  # a build reads each chapter several times
def notebook_of(text: str) -> NotebookNode:
    """Return the cells of a literate source, the given code of bugs apart from their solutions."""
    notebook = jupytext.reads(text, fmt="py:percent")
    for cell in notebook.cells:
        if "exercise" in cell.metadata and BUG.search(cell.source):
            cell.metadata["given"] = MARKS.sub("", with_bug(cell.source) + "\n").rstrip("\n")
            cell.source = BUG.sub(r"\1\2", cell.source)
    return notebook


def lesson_of(project: Project, chapter: Chapter) -> Script:
    """Return a chapter's lesson with the exercises that are not off."""
    names = [exercise.name for exercise in chapter.exercises]
    return read_script(project.solution(chapter.name)).of(names)


def check_markers(path: Path, text: str, cells: list[NotebookNode]) -> None:
    """Raise CourseError if a line that starts a cell also has text, which derived files lose.

    jupytext reads the text as the cell's title, or as names without a value.
    """
    markers = [(n, line) for n, line in enumerate(text.splitlines(), 1) if MARKER.match(line)]
    for (number, line), cell in zip(reversed(markers), reversed(cells), strict=False):
        marks = cell.metadata
        if None in marks.values() or {"title", "incorrectly_encoded_metadata"} & set(marks):
            raise CourseError(
                f"{path}:{number}: text after `# %%` is lost; put it on the next line: {line}"
            )


def without_solutions(source: str) -> str:
    """Return the source with every solution region replaced by `raise NotImplementedError`.

    >>> without_solutions("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION")
    'def f():\\n    raise NotImplementedError'
    """
    return REGION.sub(STUB, source)


def stub_text(script: Script) -> str:
    """Return the stub as a percent script.

    Hints are left out because learners request them one by one. Cells that only work in a notebook
    are left out, too.
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
    """Return a lesson for reading in an editor, with plain-text formulas and described pictures.

    >>> print(readable("The root $\\\\sqrt{n_x}$.\\n\\n![Two arrows.](pictures/angle.png)"))
    The root √n_x.
    <BLANKLINE>
    [Picture: Two arrows.]
    """
    return PICTURE.sub(told, in_plain_text(lesson))


def told(picture: re.Match) -> str:
    """Return a picture's description, wrapped to the width of the text around it."""
    return fill(f"[Picture: {picture[1]}]", WIDTH)


# --- find-the-bug exercises -------------------------------------------------------------------


def with_bug(source: str) -> str:
    """Return the source with every line that is marked as a bug replaced by the wrong line.

    >>> with_bug("    return x + y  ### BUG: return x - y")
    '    return x - y'
    """
    return BUG.sub(r"\1\3", source)


def bugs_of(project: Project, chapter: str, exercise: str) -> dict[str, str]:
    """Return the given code of a find-the-bug exercise, by its name; {} for other exercises."""
    is_bug = project.course.chapter(chapter).exercise(exercise).like
    return {exercise: given_code(project.solution(chapter), exercise)} if is_bug else {}


def given_code(path: Path, exercise: str) -> str:
    """Return the code of a find-the-bug exercise, and the code that it needs, without comments.

    path: the lesson. Raise CourseError if it needs another exercise, or if even the shortest repair
    is a rewrite.
    """
    right = path.read_text(encoding="utf-8")
    needed = reached(ast.parse(with_bug(right)), [exercise])
    others = set().union(*map(bound_names, needed)) & set(EXERCISE.findall(right)) - {exercise}
    if others:
        raise CourseError(f"{path}: {exercise} is given with a bug, and calls {min(others)}")
    text = "\n".join(map(ast.unparse, needed))
    if (least := changes(right, {exercise: text})[exercise]) > LONGEST:
        raise CourseError(
            f"{path}: fixing {exercise} changes {least} parts of the syntax tree; "
            f"at most {LONGEST} are allowed"
        )
    return text
