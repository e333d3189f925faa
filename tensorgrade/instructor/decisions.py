"""An instructor's decisions on single learners, in two files that `grade` never writes.

`OUT/overrides.csv` has points against the graders. An excused exercise has no points and no
maximum. Deleting a line restores what the graders found.

    student,exercise,points,reason
    ada,second_exercise,8,right but for a name
    ben,first_chapter,excused,ill

`OUT/extensions.csv` has later deadlines: a date or extra hours. `all` means every chapter with a
deadline, but a chapter with a later deadline keeps it. A line on one chapter has priority over it.

    student,chapter,due,hours,reason
    ada,first_chapter,2027-01-20 23:59 Europe/Berlin,,ill
    ben,all,,48,accommodation
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path

from ..course import Course, CourseError
from ..lateness import check_deadline, in_zone, read_time, with_zone, written
from ..views.csv_cells import read_table
from .rules import About, Key, Row, Rules

OVERRIDES, EXTENSIONS = "overrides.csv", "extensions.csv"
OVERRIDE_COLUMNS = ("student", "exercise", "points", "reason")
EXTENSION_COLUMNS = ("student", "chapter", "due", "hours", "reason")
EXCUSED, ALL = "excused", "all"
Line = dict[str, str]


def read_rules(out: Path, course: Course) -> Rules:
    """Return what the instructor decided. Raises CourseError with the file and the line."""
    return Rules(course.lateness, read_extensions(out, course), read_overrides(out, course))


def each_line(path: Path, columns: tuple[str, ...], take: Callable[[Line], None]) -> None:
    """Call a function with each line of a CSV. Raises CourseError with the line's number."""
    for number, line in read_table(path, columns):
        try:
            take(line)
        except (ValueError, CourseError) as error:
            raise CourseError(f"{path}, line {number}: {error}") from None


def read_overrides(out: Path, course: Course) -> dict[Key, Row]:
    """Return all overrides by student, chapter and exercise. Raises CourseError."""
    found: dict[Key, Row] = {}

    def take(line: Line) -> None:
        for whose, override in overrides_in(line, course).items():
            if found.setdefault(whose, override)["points"] != override["points"]:
                raise ValueError(f"an earlier line gives other points for {whose[2]} to {whose[0]}")

    each_line(out / OVERRIDES, OVERRIDE_COLUMNS, take)
    return found


def overrides_in(line: Line, course: Course) -> dict[Key, Row]:
    """Return the decisions of one line. Raises ValueError or CourseError with a sentence."""
    student, name, points, reason = (line[column] for column in OVERRIDE_COLUMNS)
    if not (student and reason):
        raise ValueError("student and reason must not be empty")
    given = None if points == EXCUSED else number_in(points)
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


def number_in(points: str) -> float:
    """Return points as a spreadsheet may have written them. Raises ValueError."""
    try:
        return float(points.replace(",", "."))
    except ValueError:
        raise ValueError(f"points must be a number or `{EXCUSED}`, not {points!r}") from None


def read_extensions(out: Path, course: Course) -> dict[About, Row]:
    """Return all extensions, by student and chapter. Raises CourseError."""
    term: dict[About, Row] = {}
    single: dict[About, Row] = {}

    def take(line: Line) -> None:
        found = extensions_in(line, course)
        kind = term if line["chapter"] == ALL else single
        if twice := found.keys() & kind.keys():
            raise ValueError(f"a line above extends {' for '.join(min(twice)[::-1])}")
        kind.update(found)

    each_line(out / EXTENSIONS, EXTENSION_COLUMNS, take)
    return term | single


def extensions_in(line: Line, course: Course) -> dict[About, Row]:
    """Return the extensions of one line. Raises ValueError or CourseError with a sentence."""
    student, name, due, hours, reason = (line[column] for column in EXTENSION_COLUMNS)
    if not (student and reason):
        raise ValueError("say whose deadline is extended, and why")
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
    try:
        extra = timedelta(hours=float(hours.replace(",", ".")))
        moment = read_time(course.lateness.deadlines[chapter]) + extra
    except (ValueError, OverflowError):
        raise ValueError(f"hours must be a number, not {hours!r}") from None
    if extra <= timedelta(0):
        raise ValueError(f"hours must be more than 0, not {hours}")
    return in_zone(written(moment), zone)


def unknown_learners(rules: Rules, students: Collection[str]) -> list[str]:
    """Return notes on names in these files that no learner with results has.

    Similar names of learners are added: `adda (did you mean ada?)`.
    """
    notes = []
    for file, decided in ((EXTENSIONS, rules.extensions), (OVERRIDES, rules.overrides)):
        strange = []
        for name in sorted({student for student, *_ in decided} - set(students)):
            similar = get_close_matches(name, students, n=2)
            strange.append(f"{name} (did you mean {' or '.join(similar)}?)" if similar else name)
        if strange:
            notes.append(f"{file} names learners without results: {', '.join(strange)}")
    return notes
