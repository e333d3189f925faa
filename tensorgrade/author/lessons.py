"""What learners get of a chapter's lesson: its stub, and the code of find-the-bug exercises."""

import ast
import re
from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise
from textwrap import fill

from ..attempts.attempt import MOST_CHANGED
from ..cells import Cell, marked, read_lesson
from ..course import Chapter, CourseError
from ..project import Project
from ..recognition.edits import reached
from ..runner.facts import changes
from ..runner.syntax import bound_names
from ..views.formulas import in_plain_text

REGION = re.compile(
    r"^([ \t]*)### BEGIN SOLUTION.*?### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE
)
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


def lesson_of(project: Project, chapter: Chapter) -> list[Cell]:
    """Return a chapter's lesson without the exercises that are off.

    Their cells and hints are left out, with the text right before each of them and the experiments
    that use them. Raise CourseError if the lesson is missing.
    """
    cells = read_lesson(project.solution(chapter.name))
    off = marked(cells, "exercise").keys() - {exercise.name for exercise in chapter.exercises}

    def is_off(cell: Cell) -> bool:
        used = re.findall(r"\w+", cell.source) if "active" in cell.marks else []
        return not off.isdisjoint({cell.marks.get("exercise"), cell.marks.get("hints"), *used})

    return [
        cell
        for cell, after in pairwise([*cells, Cell("")])
        if not is_off(cell) and not (cell.is_text and after.marks.get("exercise") in off)
    ]


def right_code(source: str) -> str:
    """Return the solution in an exercise's cell, without the wrong line of a bug."""
    return BUG.sub(r"\1\2", source)


def given_code(source: str) -> str:
    """Return the code of a find-the-bug exercise that learners get; empty for other exercises."""
    return MARKS.sub("", with_bug(source) + "\n").rstrip("\n") if BUG.search(source) else ""


def without_solutions(source: str) -> str:
    """Return the source with every solution region replaced by `raise NotImplementedError`.

    >>> without_solutions("def f():\\n    ### BEGIN SOLUTION\\n    return 1\\n    ### END SOLUTION")
    'def f():\\n    raise NotImplementedError'
    """
    return REGION.sub(r"\1raise NotImplementedError", source)


def stub_text(cells: list[Cell]) -> str:
    """Return the stub of a lesson as a percent script, to read in an editor.

    Hints are left out because learners request them one by one. Cells that only work in a notebook
    are left out, too. Formulas are plain text, and pictures are described.
    """

    def written(cell: Cell) -> str:
        if not cell.is_text:
            return f"# %%\n{given_code(cell.source) or without_solutions(cell.source)}\n\n\n"
        plain = in_plain_text(cell.source)
        described = PICTURE.sub(lambda picture: fill(f"[Picture: {picture[1]}]", WIDTH), plain)
        lines = (f"# {line}".rstrip() for line in described.split("\n"))
        return "\n".join(["# %% [markdown]", *lines, "", ""])

    shown = [cell for cell in cells if not cell.marks.keys() & {"hints", "active"}]
    return HEADER + "".join(map(written, shown)).rstrip("\n") + "\n"


# --- find-the-bug exercises -------------------------------------------------------------------


def with_bug(source: str) -> str:
    """Return the source with every line that is marked as a bug replaced by the wrong line.

    >>> with_bug("    return x + y  ### BUG: return x - y")
    '    return x - y'
    """
    return BUG.sub(r"\1\3", source)


def names_used(module: ast.Module, names: Collection[str]) -> set[str]:
    """Return the top-level names that definitions of a file need, with their own."""
    return set().union(*map(bound_names, reached(module, names)))


@lru_cache(maxsize=64)
def bug_of(project: Project, chapter: str, exercise: str) -> str:
    """Return the code of a find-the-bug exercise, and the code that it needs, without comments.

    Raise CourseError if it needs another exercise, or if even the shortest repair is a rewrite.
    """
    path = project.solution(chapter)
    right = path.read_text(encoding="utf-8")
    module, others = ast.parse(with_bug(right)), marked(read_lesson(path), "exercise").keys()
    if used := names_used(module, [exercise]) & (others - {exercise}):
        raise CourseError(f"{path}: {exercise} is given with a bug, and calls {min(used)}")
    text = "\n".join(map(ast.unparse, reached(module, [exercise])))
    if (least := changes(right, {exercise: text})[exercise]) > LONGEST:
        raise CourseError(
            f"{path}: fixing {exercise} changes {least} parts of the syntax tree; "
            f"at most {LONGEST} are allowed"
        )
    return text
