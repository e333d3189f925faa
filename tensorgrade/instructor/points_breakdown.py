"""Explain how a row gets its points: the graders' points, every deduction, and the result."""

from ..views.words import plural
from .rules import found, most_of


def points_steps(row: dict) -> list[str]:
    """Return a sentence for each step from the maximum to the points that count.

    >>> row = {"points": 3.2, "max_points": 5.0, "penalty": 0.8, "late_seconds": 3600.0}
    >>> points_steps(row | {"mistakes": ["no_scale"]})[:2]
    ['Graded: 4 of 5 points.', 'Lost for the mistake no_scale: 1 point.']
    >>> points_steps(row | {"mistakes": []})[2:]
    ['1 hour late: 0.8 points less.', 'What counts: 3.2 of 5 points.']
    """
    steps = [f"Graded: {found(row):g} of {points(most_of(row))}."]
    lost = round(most_of(row) - found(row), 6)
    if lost > 0 and row.get("status") != "not_attempted":
        steps.append(f"Lost{cause(row['mistakes'])}: {points(lost)}.")
    if extension := row.get("extension"):
        steps.append(f"Extension until {extension['due']}: {extension['reason'].rstrip('.')}.")
    if penalty := row.get("penalty"):
        steps.append(f"{late(row['late_seconds'])} late: {points(penalty)} less.")
    if decided := decision_sentence(row):
        steps.append(decided)
    return [*steps, f"What counts: {row['points']:g} of {points(row['max_points'])}."]


def is_changed(row: dict) -> bool:
    """Return True if a penalty, an override or an extension affects the points."""
    return any(map(row.get, ("penalty", "override", "extension")))


def decision_sentence(row: dict) -> str:
    """Return an instructor's decision as a sentence; "" if there is none."""
    told = row.get("override")
    if told is None:
        return ""
    what = f"gave {row['points']:g} points" if row["max_points"] else "excused this"
    return f"Your instructor {what}: {told['reason'].rstrip('.')}."


def cause(mistakes: list[str]) -> str:
    """Return the reason for a deduction; "" if the mistake has no name."""
    kind = "mistake" if len(mistakes) == 1 else "mistakes"
    return f" for the {kind} {', '.join(mistakes)}" if mistakes else ""


def points(number: float) -> str:
    """Return a number of points.

    >>> points(1.0), points(0.5)
    ('1 point', '0.5 points')
    """
    return "1 point" if number == 1 else f"{number:g} points"


def late(seconds: float) -> str:
    """Return a delay in words, rounded up to whole units, as the late penalty counts days.

    >>> late(61), late(3 * 3600), late(200_000)
    ('2 minutes', '3 hours', '3 days')
    """
    size, unit = next(
        (size, unit)
        for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute"), (0, "minute"))
        if seconds >= 1.0 * size
    )
    count = -int(-seconds // (size or 60)) or 1
    return plural(count, unit)
