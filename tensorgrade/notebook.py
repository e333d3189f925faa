"""What a learner's notebook imports: checks, points and pictures; other chapters become importable.

Everything heavy is imported when a check runs, so this costs nothing where nothing is checked.
"""

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from .learner.notebook.chapters import make_chapters_importable
from .learner.pictures import bars, heatmap, heatmaps, lines

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from .learner.notebook.card import Card, Points


def check(exercise: str) -> "Card":
    """Run the public checks of an exercise on this notebook's code; shows what came of it."""
    from .learner.notebook.card import Card
    from .learner.notebook.checking import check_here

    return Card(check_here(exercise))


def points(exercise: str) -> "Points":
    """What the public checks of an exercise earn, as a number that nbgrader understands."""
    from .learner.notebook.card import Points
    from .learner.notebook.checking import check_here

    checked = check_here(exercise)
    return Points(checked.points, checked.exercise.points)


ELSEWHERE = "`tensorgrade {}` belongs to the course's folder, and this notebook does not lie in it."


def command(name: str, *arguments: object) -> None:
    """What one of the course's own commands has for notebooks: its function `in_notebook`."""
    from pathlib import Path

    from .course_sources import load_command, own_commands

    path = own_commands(Path.cwd()).get(name)
    if path is None:
        print(ELSEWHERE.format(name))
    else:
        load_command(path).__globals__["in_notebook"](*arguments)


TO_DO = "{} is still to do: write it in its own cell and run that; then run this one again."


def say_what_is_to_do() -> None:
    """In place of a traceback that ends in a stub: a sentence on which exercise it is."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and (shell := ipython.get_ipython()) is not None:
        shell.set_custom_exc((NotImplementedError,), told_or_shown)


def told_or_shown(
    shell: "InteractiveShell",
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """The sentence for a stub, which gives no reason; for any other error the traceback."""
    if str(error):
        shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    name = trace.tb_frame.f_code.co_qualname.split(".")[0]
    print(TO_DO.format("An exercise" if name.startswith("<") else name))


make_chapters_importable()
say_what_is_to_do()

__all__ = ["bars", "check", "command", "heatmap", "heatmaps", "lines", "points"]
