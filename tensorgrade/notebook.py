"""The interface for learners' notebooks: checks, points, pictures and importable chapters.

Heavy modules are imported only when a check runs, so importing this module is fast.
"""

import sys
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import TYPE_CHECKING

from .course import CourseError
from .learner.chapters import Chapters
from .learner.pictures import bars, find_shell, heatmap, heatmaps, lines
from .project import load_command, own_commands

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .learner.notebook import Card, Points


def check(exercise: str) -> "Card":
    """Run the public checks of an exercise on this notebook's code, and show the result."""
    from .learner.notebook import check_here

    return check_here(exercise)


def points(exercise: str) -> "Points":
    """Return the points that the public checks earn, as a number that nbgrader understands."""
    from .learner.notebook import Points, check_here

    card = check_here(exercise)
    return Points(card.points, card.exercise.points)


ELSEWHERE = "`tensorgrade {}` belongs to the course's folder, and this notebook is not in it."


def command(name: str, *arguments: object) -> None:
    """Run the notebook form of one of the course's own commands: its function `in_notebook`."""
    path = own_commands(Path.cwd()).get(name)
    if path is None:
        print(ELSEWHERE.format(name))
    else:
        load_command(path).__globals__["in_notebook"](*arguments)


TO_DO = "{} is still to do: write it in its own cell and run that; then run this one again."


def say_what_stops_a_cell() -> None:
    """Show one sentence instead of a traceback if an unwritten exercise stops a cell."""
    if (shell := find_shell()) is not None:
        shell.set_custom_exc((CourseError, NotImplementedError), told_or_shown)


def told_or_shown(
    shell: "InteractiveShell",
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show a sentence if an unwritten exercise stops a cell, and the traceback otherwise.

    The sentence is displayed as an error, so that it is found wherever errors are searched.
    """
    if isinstance(error, NotImplementedError) and str(error):
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    called = [frame.f_code.co_qualname for frame, _ in walk_tb(trace)][-1].split(".")[0]
    to_do = TO_DO.format("An exercise" if called.startswith("<") else called)
    sys.last_type, sys.last_value, sys.last_traceback = kind, error, trace
    shell._showtraceback(kind, error, [str(error) or to_do])


sys.meta_path.append(Chapters())
say_what_stops_a_cell()

__all__ = ["bars", "check", "command", "heatmap", "heatmaps", "lines", "points"]
