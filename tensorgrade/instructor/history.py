"""What moved from one run to the next: points, statuses, who came, and which graders judged.

`history.jsonl` gets a record for every run after which something is otherwise than before it.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from ..attempts.verdict import Status
from ..course import CourseError
from ..lateness import written

HISTORY = "history.jsonl"
Key = tuple[str, str]  # student, chapter
OTHER_FILE, OTHER_GRADERS, OTHER_DATES = "another file", "other graders", "other dates"
BY_HAND = "an instructor"
GRADED_AGAIN = "graded again"  # the same file by the same graders: they had failed, or --forget


def record(
    before: dict[Key, tuple[str, list[dict]]], stamps: dict[Key, str], rows: list[dict]
) -> dict | None:
    """What a run has changed; None where everything is as it was.

    before: of each hand-in the stamp and the rows when the last run ended. stamps, rows: now.
    """
    old = {of_row(row): row for _, own in before.values() for row in own}
    now = {of_row(row): row for row in rows}
    moved = [
        move(old[key], row, why(old[key], row, (before[key[:2]][0], stamps.get(key[:2], ""))))
        for key, row in now.items()
        if key in old and stands(old[key]) != stands(row)
    ]
    came = sorted({key[:2] for key in now} - before.keys())
    gone = sorted(before.keys() - {key[:2] for key in now})
    if before and not (moved or came or gone):
        return None
    return {
        "at": written(datetime.now(UTC).replace(microsecond=0)),
        "graders": graders_of(stamps),
        "totals": totals(rows),
        "came": [list(key) for key in came] if before else [],
        "gone": [list(key) for key in gone],
        "moved": moved,
    }


def of_row(row: dict) -> tuple[str, str, str]:
    """What a row is about."""
    return row["student"], row["chapter"], row["exercise"]


def stands(row: dict) -> tuple[float, str]:
    """What a learner reads off a row."""
    return row["points"], row["status"]


def move(old: dict, row: dict, because: str) -> dict:
    """One row that is otherwise now."""
    student, chapter, exercise = of_row(row)
    return {
        "student": student,
        "chapter": chapter,
        "exercise": exercise,
        "points": [old["points"], row["points"]],
        "status": [old["status"], row["status"]],
        "why": because,
    }


def why(old: dict, row: dict, stamps: tuple[str, str]) -> str:
    """Why a row moved. stamps: of the hand-in then and today, `<content>-<graders>`.

    What was earned before any penalty moves with the file or the graders, and with no date; but
    who hands in another file at another time has moved the date, and nobody else.
    """
    if old.get("override") != row.get("override"):
        return BY_HAND
    if judged(old) != judged(row) and stamps[0] == stamps[1]:
        return GRADED_AGAIN
    other_file = len({stamp.rpartition("-")[0] for stamp in stamps}) > 1
    if judged(old) != judged(row):
        return OTHER_FILE if other_file else OTHER_GRADERS
    came_later = other_file and old.get("submitted") != row.get("submitted")
    return OTHER_FILE if came_later else OTHER_DATES


def judged(row: dict) -> tuple[float, str]:
    """What the graders found, whenever it was handed in."""
    return round(row["points"] + row.get("penalty", 0.0), 5), row["status"]


def graders_of(stamps: dict[Key, str]) -> dict[str, list[str]]:
    """The digests of the graders behind the rows, by chapter."""
    found: dict[str, set[str]] = {}
    for (_, chapter), stamp in stamps.items():
        found.setdefault(chapter, set()).add(stamp.rpartition("-")[2])
    return {chapter: sorted(digests) for chapter, digests in sorted(found.items())}


def totals(rows: list[dict]) -> dict:
    """How the class stands, for a line over time."""
    return {
        "learners": len({row["student"] for row in rows}),
        "points": round(sum(row["points"] for row in rows), 3),
        "most": round(sum(row["max_points"] for row in rows), 3),
        "passed": sum(row["status"] == Status.PASSED for row in rows),
        "rows": len(rows),
    }


def read_history(out: Path) -> list[dict]:
    """All records, oldest first, but a last line that was cut off. Raises CourseError."""
    path = out / HISTORY
    if not path.exists():
        return []
    try:
        records = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    except ValueError:
        records = [None]
    if not all(is_record(found) for found in records):
        raise CourseError(f"{path} holds something else than this program's history")
    return records


def is_record(found: object) -> bool:
    """Whether a line is one of ours."""
    return isinstance(found, dict) and {"at", "totals", "came", "gone", "moved"} <= found.keys()


def by_learner(moved: Iterable[dict]) -> dict[str, list[dict]]:
    """Moves by the learner whose they are."""
    found: dict[str, list[dict]] = {}
    for one in moved:
        found.setdefault(one["student"], []).append(one)
    return found
