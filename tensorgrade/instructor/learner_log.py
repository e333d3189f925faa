"""`tensorgrade log`: the history of one learner's points, and what counts today."""

from itertools import groupby
from pathlib import Path

from ..course import Course, CourseError
from ..lateness import in_zone
from .class_terminal import points_in
from .points_breakdown import late, points
from .results import Attempt, Results, rows_of
from .rules import Row, total
from .term import terms_of


def log_of(out: Path, student: str, course: Course) -> list[str]:
    """Return a line for each event in the history of a learner's points. Raises CourseError."""
    results, zone = Results(out), course.lateness.zone
    attempts = [one for own in results.attempts(student).values() for one in own]
    if not attempts:
        raise CourseError(f"{out} holds no rows of {student}")
    lines = [(one.at, attempt_line(one, zone)) for one in attempts]
    moved = points_changes(results, student)
    lines += [(one["at"], f"{one['chapter']}: {change_line(one)}") for one in moved]
    told = [f"{in_zone(at, zone)}  {line}" for at, line in sorted(lines, key=lambda pair: pair[0])]
    rows = results.rows(course, student)
    newest = {one.chapter: one.file for one in attempts}
    standing = [
        standing_line(chapter, list(own), newest[chapter])
        for chapter, own in groupby(rows, key=lambda row: row["chapter"])
    ]
    term = terms_of(rows_of(out, course), course).get(student) if course.scheme else None
    return [*told, "", *standing, *([term.told()] if term else [])]


def attempt_line(one: Attempt, zone: str) -> str:
    """Return a line with a graded attempt and the points that the graders found."""
    found, most = total(one.rows), total(one.rows, "max_points")
    when = in_zone(one.rows[0].get("submitted"), zone) or "at an unknown time"
    file = f"file {one.file[:8]}, graders {one.graders[:8]}"
    return f"{one.chapter}: graded, {found:g} of {most:g} points found; submitted {when}; {file}"


def points_changes(results: Results, student: str) -> list[Row]:
    """Return the changes of a learner's points, without those of the status alone."""
    return [one for one in results.changes(student) if one["points"][0] != one["points"][1]]


def change_line(change: Row) -> str:
    """Return a change of a row with its cause."""
    return f"{change['exercise']} {points_in(change['points'])} ({change['why']})"


def standing_line(chapter: str, rows: list[Row], newest: str) -> str:
    """Return a line with the points that count, and what changed those that the graders found.

    newest: the digest of the learner's newest file.
    """
    first, parts = rows[0], []
    if penalty := total(rows, "penalty"):
        parts.append(f"{late(first['late_seconds'])} late: {points(penalty)} less")
    if extension := first.get("extension"):
        parts.append(f"extension until {extension['due']}")
    if decided := [row["exercise"] for row in rows if row.get("override")]:
        parts.append(f"decided by an instructor: {', '.join(decided)}")
    if team := first.get("team"):
        parts.append(f"team {team}")
    file = "" if first["file"] == newest else f", of the earlier file {first['file'][:8]}"
    counts = f"{total(rows):g} of {points(total(rows, 'max_points'))} count{file}"
    return f"{chapter}: {counts}" + (f" ({'; '.join(parts)})" if parts else "")
