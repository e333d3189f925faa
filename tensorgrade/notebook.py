"""What a learner's notebook imports: checks, points and pictures; other chapters become importable.

Everything heavy is imported when a check runs, so this costs nothing where nothing is checked.
"""

from typing import TYPE_CHECKING

from .learner.notebook.chapters import make_chapters_importable
from .learner.pictures import bars, heatmap, heatmaps, lines

if TYPE_CHECKING:
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


make_chapters_importable()

__all__ = ["bars", "check", "heatmap", "heatmaps", "lines", "points"]
