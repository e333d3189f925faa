"""The interface for learners' notebooks: checks, points, pictures and importable chapters.

Heavy modules are imported only when a check runs, so importing this module is fast.
"""

import ast
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from .learner.notebook.chapters import make_chapters_importable
from .learner.pictures import bars, heatmap, heatmaps, lines

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .learner.notebook.card import Card, Points


def check(exercise: str) -> "Card":
    """Run the public checks of an exercise on this notebook's code, and show the result."""
    from .learner.notebook.card import Card
    from .learner.notebook.checking import check_here

    return Card(check_here(exercise))


def points(exercise: str) -> "Points":
    """Return the points that the public checks earn, as a number that nbgrader understands."""
    from .learner.notebook.card import Points
    from .learner.notebook.checking import check_here

    checked = check_here(exercise)
    return Points(checked.points, checked.exercise.points)


ELSEWHERE = "`tensorgrade {}` belongs to the course's folder, and this notebook is not in it."


def command(name: str, *arguments: object) -> None:
    """Run the notebook form of one of the course's own commands: its function `in_notebook`."""
    from pathlib import Path

    from .project import load_command, own_commands

    path = own_commands(Path.cwd()).get(name)
    if path is None:
        print(ELSEWHERE.format(name))
    else:
        load_command(path).__globals__["in_notebook"](*arguments)


TO_DO = "{} is still to do: write it in its own cell and run that; then run this one again."
NOT_RIGHT = (
    "This cell needs your {}, which is not right yet, and ends in `{}`. Mend that first: the check "
    "below it says what is wrong. (`%tb` shows where Python stopped.)"
)
NOT_THERE = (
    "The name {} comes from an earlier cell, which did not come to its end: run that one first."
)


def say_what_stops_a_cell() -> None:
    """Show one sentence instead of a traceback if an unfinished exercise stops a cell."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        shell.set_custom_exc((Exception,), told_or_shown)


def told_or_shown(
    shell: "InteractiveShell",
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show a sentence if an exercise stops a cell, and the traceback for any other error.

    The sentence is displayed as an error, so that it is found wherever errors are searched.
    """
    sentence = what_stops(error, trace)
    if sentence is None:
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    shell._showtraceback(kind, error, [sentence])


def what_stops(error: BaseException, trace: TracebackType) -> str | None:
    """Return a sentence on the exercise that stops a cell; None if no exercise does."""
    from .course import CourseError
    from .exchange.text import short
    from .learner.notebook.running import (
        called_on_the_way,
        cells_run,
        names,
        needed_by,
        stopped_cell,
    )

    if isinstance(error, CourseError):
        return str(error)
    called, cell = called_on_the_way(trace), stopped_cell(trace)
    if isinstance(error, NotImplementedError) and not str(error):
        return TO_DO.format("An exercise" if called[0].startswith("<") else called[0])
    before = [other for other in cells_run() if other.strip() != cell.strip()]
    # A cell that failed before it assigned to the name counts, too.
    if isinstance(error, NameError) and any(error.name in names(c, ast.Store) for c in before):
        return NOT_THERE.format(error.name)
    name = next(unfinished([*called, *needed_by(cell, before)]), None)
    return NOT_RIGHT.format(name, f"{type(error).__name__}: {short(str(error))}") if name else None


def unfinished(names: list[str]) -> Iterator[str]:
    """Yield the names that are exercises in this notebook but do not pass their checks yet."""
    from .learner.notebook.checking import is_wrong_here
    from .learner.notebook.running import find_shell

    shell = find_shell()
    for name in dict.fromkeys(names):
        value = shell.user_ns.get(name) if shell else None
        if getattr(value, "__module__", "") == "__main__" and is_wrong_here(name):
            yield name


make_chapters_importable()
say_what_stops_a_cell()

__all__ = ["bars", "check", "command", "heatmap", "heatmaps", "lines", "points"]
