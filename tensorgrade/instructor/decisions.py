"""An instructor's decisions on single learners, in three files that `grade` never writes.

- `OUT/overrides.csv` (docs/how-to/overrides.md) has points against the graders. An excused exercise
  has no points and no maximum. Deleting a line restores what the graders found.
- `OUT/extensions.csv` (docs/how-to/deadlines.md) has later deadlines: a date or extra hours. A
  chapter with a later deadline keeps it.
- `SUBMITTED/teams.csv` (docs/how-to/teams.md) has learners who submit together. `collect` adds
  lines.

A line on one chapter has priority over a line on all chapters.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..course import Course, CourseError
from ..lateness import check_deadline, in_zone, read_time, with_zone, written
from ..sources.finding import TEAMS, About
from ..views.csv_cells import read_table
from .rules import Row, Rules

OVERRIDES, EXTENSIONS = "overrides.csv", "extensions.csv"
OVERRIDE_COLUMNS = ("student", "exercise", "points", "reason")
EXTENSION_COLUMNS = ("student", "chapter", "due", "hours", "reason")
TEAM_COLUMNS = ("student", "team", "chapter")
NEEDED = ("student", "team", "reason")
EXCUSED, ALL = "excused", "all"
Line = dict[str, str]
Decisions = dict[tuple[str, ...], Any]  # by student, chapter, and for overrides exercise
Reader = Callable[[Line, Course], Decisions]


def read_rules(out: Path, course: Course) -> Rules:
    """Return what the instructor decided. Raises CourseError with the file and the line."""
    overrides = decided(out / OVERRIDES, OVERRIDE_COLUMNS, overrides_in, course)
    return Rules(course.lateness, read_extensions(out, course), overrides)


def read_extensions(out: Path, course: Course) -> dict[About, Row]:
    """Return all extensions, by student and chapter. Raises CourseError."""
    return decided(out / EXTENSIONS, EXTENSION_COLUMNS, extensions_in, course)


def read_teams(submitted: Path, course: Course) -> dict[About, str]:
    """Return the teams of a folder of submissions, by student and chapter. Raises CourseError."""
    return decided(submitted / TEAMS, TEAM_COLUMNS[:2], teams_in, course)


def decided(path: Path, columns: tuple[str, ...], decisions_in: Reader, course: Course) -> Any:
    """Return the decisions of all lines of a CSV; those on one chapter have priority.

    Raises CourseError with the line's number.
    """
    general: Decisions = {}
    single: Decisions = {}
    for number, line in read_table(path, columns):
        try:
            if empty := [c for c in NEEDED if c in columns and not line[c]]:
                raise ValueError(f"{' and '.join(empty)} must not be empty")
            kind = general if line.get("chapter", "") in ("", ALL) else single
            for about, decision in decisions_in(line, course).items():
                if kind.setdefault(about, decision) != decision:
                    what = " for ".join(reversed([about[0], about[-1]]))
                    raise ValueError(f"an earlier line says something else on {what}")
        except (ValueError, OverflowError, CourseError) as error:
            raise CourseError(f"{path}, line {number}: {error}") from None
    return general | single


def teams_in(line: Line, course: Course) -> Decisions:
    """Return the team of one line. Raises CourseError."""
    student, team, chapter = (line.get(column, "") for column in TEAM_COLUMNS)
    own = (course.chapter(chapter),) if chapter else course.chapters
    return {(student, one.name): team for one in own}


def overrides_in(line: Line, course: Course) -> Decisions:
    """Return the decisions of one line. Raises ValueError or CourseError with a sentence."""
    student, name, points, reason = (line[column] for column in OVERRIDE_COLUMNS)
    given = None if points == EXCUSED else number_in("points", points)
    if chapter := next((one for one in course.chapters if one.name == name), None):
        if given is not None:
            raise ValueError(f"{name} is a chapter, which can only be excused")
        exercises = chapter.exercises
    else:
        chapter, exercise = course.exercise(name)
        if given is not None and not 0 <= given <= exercise.points:
            raise ValueError(f"{name} gives 0 to {exercise.points:g} points, not {points}")
        exercises = (exercise,)
    override = {"points": given, "reason": reason}
    return {(student, chapter.name, exercise.name): override for exercise in exercises}


def number_in(column: str, cell: str) -> float:
    """Return a number as a spreadsheet may have written it. Raises ValueError."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        other = f" or `{EXCUSED}`" if column == "points" else ""
        raise ValueError(f"{column} must be a number{other}, not {cell!r}") from None


def extensions_in(line: Line, course: Course) -> Decisions:
    """Return the extensions of one line. Raises ValueError or CourseError with a sentence."""
    student, name, due, hours, reason = (line[column] for column in EXTENSION_COLUMNS)
    if bool(due) == bool(hours):
        raise ValueError("give either a new deadline or extra hours")
    deadlines = course.lateness.deadlines
    own = deadlines if name == ALL else [course.chapter(name).name]
    if not deadlines.keys() >= {*own}:
        raise ValueError(f"{name} has no deadline in course_config.py")
    dues = {chapter: new_due(due, hours, chapter, course) for chapter in own}
    later = {c: d for c, d in dues.items() if read_time(d) >= read_time(deadlines[c])}
    if name != ALL and not later:
        raise ValueError(f"{dues[name]} is before the chapter's deadline, {deadlines[name]}")
    return {(student, c): {"due": due, "reason": reason} for c, due in later.items()}


def new_due(due: str, hours: str, chapter: str, course: Course) -> str:
    """Return the new deadline of a chapter: a date, or some hours more. Raises ValueError."""
    zone = course.lateness.zone
    if due:
        return check_deadline(with_zone(due, zone))
    more = number_in("hours", hours)
    if not more > 0:
        raise ValueError(f"hours must be more than 0, not {hours}")
    moment = read_time(course.lateness.deadlines[chapter]) + timedelta(hours=more)
    return in_zone(written(moment), zone)
