"""The history of one learner's points: `tensorgrade log` and `tensorgrade regrade`."""

import getpass
from pathlib import Path

from ..course import Course, CourseError
from ..lateness import in_zone, is_released
from .exporting import not_released
from .history import changed_points
from .points_breakdown import is_changed, late, points_steps
from .points_breakdown import points as points_said
from .run import Progress, Run, grade_class
from .store import MOVED, About, Attempt, Store, add_event, moment
from .term import terms_of

CAME = "came"


def log_of(out: Path, student: str, course: Course) -> list[str]:
    """Return a line for each event in the history of a learner's points. Raises CourseError."""
    store = Store(out)
    attempts = [
        one for (name, _), own in store.attempts().items() if name == student for one in own
    ]
    events = store.events(student)
    if not attempts and not events:
        raise CourseError(f"{out} holds no rows of {student}")
    events = [e for e in events if e["kind"] not in (CAME, MOVED)] + changed_points(events)
    lines = [(one.judged, attempt_line(one, course)) for one in attempts]
    lines += [(event["at"], event_line(event)) for event in events]
    zone = course.lateness.zone
    told = [f"{in_zone(at, zone)}  {line}" for at, line in sorted(lines, key=lambda pair: pair[0])]
    return [*told, "", *standing(store, student, course)]


def attempt_line(attempt: Attempt, course: Course) -> str:
    """Return a line with a graded attempt and the points that the graders found."""
    rows = attempt.rows
    found, most = (sum(row[name] for row in rows) for name in ("points", "max_points"))
    submitted = next((row["submitted"] for row in rows if row.get("submitted")), "")
    when = in_zone(submitted, course.lateness.zone) or "at an unknown time"
    file = f"file {attempt.content[:8]}, graders {attempt.graders[:8]}"
    return (
        f"{attempt.chapter}: graded, {found:g} of {most:g} points found; submitted {when}; {file}"
    )


def event_line(event: dict) -> str:
    """Return a line with a change and its cause."""
    if event["kind"] == "gone":
        return f"{event['chapter']}: rows deleted"
    if event["kind"] == REGRADED:
        before, now = event["points"]
        what = f"graded again by {event['who']}: {event['reason']}"
        return f"{event['chapter']}: {what}; {before:g} → {now:g} points"
    before, now = event["points"]
    return f"{event['chapter']}: {event['exercise']} {before:g} → {now:g} ({event['why']})"


def standing(store: Store, student: str, course: Course) -> list[str]:
    """Return a line for each chapter with the points that count today, and one for the term."""
    newest = {about: own[-1].content for about, own in store.attempts().items()}
    lines = []
    for (name, chapter), one in sorted(store.results().items()):
        if name != student:
            continue
        points = f"{points_in(one.rows):g} of {points_said(most_in(one.rows))}"
        counted = one.basis.content
        is_newest = newest.get((name, chapter)) in (None, counted)
        file = "" if is_newest else f", of the earlier file {counted[:8]}"
        lines.append(f"{chapter}: {points} count{file}{reasons_in(one.rows)}")
    term = terms_of(store.rows(), course).get(student) if course.scheme else None
    return [*lines, term.told()] if term else lines


def reasons_in(rows: list[dict]) -> str:
    """Return what changed the points that the graders found, in brackets; "" if nothing did."""
    parts = []
    if penalty := round(sum(row.get("penalty") or 0.0 for row in rows), 6):
        parts.append(f"{late(rows[0]['late_seconds'])} late: {points_said(penalty)} less")
    if extension := rows and rows[0].get("extension"):
        parts.append(f"extension until {extension['due']}")
    if decided := [row["exercise"] for row in rows if row.get("override")]:
        parts.append(f"decided by an instructor: {', '.join(decided)}")
    if team := rows and rows[0].get("team"):
        parts.append(f"team {team}")
    return f" ({'; '.join(parts)})" if parts else ""


def points_in(rows: list[dict]) -> float:
    """Return the points of some rows."""
    return round(sum(row["points"] for row in rows), 6)


def most_in(rows: list[dict]) -> float:
    """Return the maximum points of some rows."""
    return round(sum(row["max_points"] for row in rows), 6)


REGRADED = "regraded"


def user() -> str:
    """Return the name of the person at this machine; in a container it may be unknown."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def regrade(
    submitted: Path, out: Path, run: Run, reason: str, course: Course, progress: Progress
) -> str:
    """Grade a learner's files again, record the reason, and return a reply to the learner.

    run: names the learner in `again`. Raises CourseError for a learner without rows, and if this
    machine could not grade the files.
    """
    if not reason.strip():
        raise CourseError("--reason must say why; the learner reads it")
    student = run.again
    before = own_rows(out, student)
    if not before:
        raise CourseError(f"{out} holds no rows of {student}")
    who = user()
    grade_class(submitted, out, run, progress)
    if why := progress.not_graded():
        raise CourseError(why)
    now = own_rows(out, student)
    chapters = [a for a in now if not run.chapters or a[1] in run.chapters]
    store = Store(out, writes=True)
    with store.transaction() as connection:
        for a in chapters:
            points = [points_in(before.get(a, [])), points_in(now[a])]
            told = {"student": student, "chapter": a[1], "who": who}
            add_event(connection, 0, REGRADED, told | {"reason": reason, "points": points})
    if not is_released(course.lateness):
        return f"{student}: graded again. Reason: {reason}\n\n{not_released(course)}"
    parts = [reply_on(course, a[1], before.get(a, []), now[a]) for a in chapters]
    zone = course.lateness.zone
    opening = f"{student}: graded again on {in_zone(moment(), zone)}. Reason: {reason}"
    return "\n\n".join([opening, *parts])


def own_rows(out: Path, student: str) -> dict[About, list[dict]]:
    """Return a learner's rows that count, by chapter."""
    return {a: one.rows for a, one in Store(out).results().items() if a[0] == student}


def reply_on(course: Course, chapter: str, before: list[dict], now: list[dict]) -> str:
    """Return the part of a reply on one chapter: old and new points, but nothing hidden."""
    old = {row["exercise"]: row["points"] for row in before}
    lines = []
    for row in now:
        known = old.get(row["exercise"], 0.0)
        change = "as before" if known == row["points"] else f"before: {known:g}"
        most = points_said(row["max_points"])
        lines.append(f"  {row['exercise']}: {row['points']:g} of {most} ({change})")
        if is_changed(row) or row["mistakes"]:
            lines.append(f"    {' '.join(points_steps(row))}")
    total = f"{points_in(now):g} of {points_said(most_in(now))}"
    change = (
        "as before" if points_in(before) == points_in(now) else f"before: {points_in(before):g}"
    )
    return "\n".join([f"{course.chapter(chapter).title}: {total} ({change})", *lines])
