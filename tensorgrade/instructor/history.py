"""Find the rows that changed from one run to the next, and the cause of each change."""

from collections.abc import Iterable

from .overrides import as_found
from .store import MOVED, Basis, Result

OTHER_FILE, OTHER_GRADERS, OTHER_DATES = "another file", "other graders", "other deadlines"
OTHER_TIME = "another submission time"
OTHER_POLICY = "another rule on attempts"
BY_HAND, EXTENDED = "an override", "an extension"
GRADED_AGAIN = "graded again"  # same file and graders: the graders had failed, or --forget


def moves(old: Result, basis: Basis, rows: list[dict]) -> list[dict]:
    """Return a record of each row whose points or status changed."""
    before = {row["exercise"]: row for row in old.rows}
    return [
        move(before[row["exercise"]], row, why(before[row["exercise"]], row, old.basis, basis))
        for row in rows
        if row["exercise"] in before
        and visible_parts(before[row["exercise"]]) != visible_parts(row)
    ]


def visible_parts(row: dict) -> tuple[float, str]:
    """Return the parts of a row that a learner sees."""
    return row["points"], row["status"]


def move(old: dict, row: dict, because: str) -> dict:
    """Return the record of one row that changed."""
    return {
        "student": row["student"],
        "chapter": row["chapter"],
        "exercise": row["exercise"],
        "points": [old["points"], row["points"]],
        "status": [old["status"], row["status"]],
        "why": because,
    }


def why(old: dict, row: dict, before: Basis, now: Basis) -> str:
    """Return the cause of a change. before, now: the attempts that the rows come from.

    If another attempt counts although none was added, the cause is the rule on attempts or a date.
    If the file and its time changed but the graders' result did not, the cause is the file.
    """
    if decided(old) != decided(row):
        return BY_HAND
    if found(old) == found(row) and old.get("extension") != row.get("extension"):
        return EXTENDED
    other_file, is_new = before.content != now.content, before.newest != now.newest
    if other_file and not is_new:
        return OTHER_POLICY if before.policy != now.policy else OTHER_DATES
    if found(old) != found(row):
        if other_file:
            return OTHER_FILE
        return GRADED_AGAIN if before.graders == now.graders else OTHER_GRADERS
    if old.get("submitted") != row.get("submitted"):
        return OTHER_FILE if other_file else OTHER_TIME
    return OTHER_DATES


def decided(row: dict) -> tuple[float, bool, str] | None:
    """Return an instructor's decision on a row, if any: points, True if they count, reason."""
    override = row.get("override")
    if override is None:
        return None
    return row["points"], bool(row["max_points"]), override["reason"]


def found(row: dict) -> tuple[float, str]:
    """Return the graders' result, without the late penalty and an instructor's decision."""
    graded = as_found(row) if decided(row) else row
    return round(graded["points"] + graded.get("penalty", 0.0), 5), row["status"]


def changed_points(events: Iterable[dict]) -> list[dict]:
    """Return the records of rows whose points changed, among a learner's events.

    Records of a changed status alone are left out.
    """
    own = [event for event in events if event["kind"] == MOVED]
    return [event for event in own if event["points"][0] != event["points"][1]]
