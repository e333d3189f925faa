"""What a learner's notebook imports: `check` and `points`; other chapters become importable.

Everything heavy is imported when a check runs, so this costs nothing where nothing is checked.
"""

from .chapters import make_chapters_importable


def check(exercise: str):
    """Run the visible checks of an exercise on this notebook's code; shows what came of it."""
    from .card import Card
    from .checking import check_here

    return Card(check_here(exercise))


def points(exercise: str):
    """What the visible checks of an exercise earn, as a number that nbgrader understands."""
    from .checking import check_here
    from .points import Points

    checked = check_here(exercise)
    return Points(checked.points, checked.exercise.points)


make_chapters_importable()

__all__ = ["check", "points"]
