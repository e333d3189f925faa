"""From attempts to the rows that count: late penalties, extensions, overrides, the best attempt.

An attempt is what the graders found in one file: a row for each exercise, which never changes. A
rule is what the instructor decided; every command reads the rules again. The decisions on single
learners are in three files that `grade` never writes. A line on one chapter has priority over a
line on all chapters.

- `OUT/overrides.csv` (docs/how-to/overrides.md) has points against the graders. An excused exercise
  has no points and no maximum. Deleting a line restores what the graders found.
- `OUT/extensions.csv` (docs/how-to/deadlines.md) has later deadlines: a date or extra hours. A
  chapter with a later deadline keeps it.
- `SUBMITTED/teams.csv` (docs/how-to/teams.md) has learners who submit together. `collect` adds
  lines.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ..attempts.verdict import GRADERS_FAILED, TROUBLE
from ..course import Course, CourseError, Scheme
from ..lateness import BEST, Lateness, check_deadline, in_zone, read_time, with_zone, written
from ..sources.finding import TEAMS, About
from ..views.csv_cells import read_table
from ..views.words import plural

Row = dict[str, Any]
Key = tuple[str, str, str]  # student, chapter, exercise
OTHER_FILE, OTHER_GRADERS, AGAIN = "another file", "other graders", "graded again"
BY_HAND, LATE = "an override", "late work"


@dataclass(frozen=True)
class Rules:
    """What the instructor of a course decided.

    extensions: later deadlines of single learners, `due` as for `read_time` and `reason`.
    overrides: `points` against the graders, None for an excused exercise, and `reason`. Learners
    read both reasons.
    """

    lateness: Lateness
    extensions: dict[About, Row]
    overrides: dict[Key, Row]


def key(row: Row) -> Key:
    """Return the student, the chapter and the exercise of a row."""
    return row["student"], row["chapter"], row["exercise"]


def counted(attempts: Sequence[list[Row]], rules: Rules) -> list[Row]:
    """Return the rows that count of a learner's attempts at one chapter, oldest first.

    If the best attempt counts, it is the one with the most points after its late penalty, or the
    newest of several. Of each file only the newest attempt is compared.
    """
    options = [*{rows[0]["file"]: rows for rows in attempts}.values()]
    if rules.lateness.attempts != BEST:
        options = options[-1:]
    newest = options[-1][0]  # the course system's extension is in its row
    given = rules.extensions.get(key(newest)[:2]) or newest.get("extension")
    due, more = (given["due"], {"extension": given}) if given else (None, {})
    late_by = rules.lateness.applied
    dated = [[late_by(row, row.get("submitted"), due) | more for row in rows] for rows in options]
    best = max(reversed(dated), key=lambda rows: sum(row["points"] for row in rows))
    for number, row in enumerate(best):
        if decided := rules.overrides.get(key(row)):  # it has no late penalty
            points, most = decided["points"], row["max_points"]
            was = {"found": found(row), "of": most, "reason": decided["reason"]}
            now = {"points": points or 0.0, "max_points": 0.0 if points is None else most}
            best[number] = row | now | {"penalty": 0.0, "override": was}
    return best


def found(row: Row) -> float:
    """Return the points that the graders found, before penalties and overrides."""
    override = row.get("override")
    return override["found"] if override else round(row["points"] + row.get("penalty", 0.0), 6)


def most_of(row: Row) -> float:
    """Return the maximum points of an exercise, even if the learner is excused from it."""
    return row["override"]["of"] if row.get("override") else row["max_points"]


def total(rows: Iterable[Row], name: str = "points") -> float:
    """Return the sum of a number in some rows, without rounding errors."""
    return round(sum(row.get(name) or 0.0 for row in rows), 6)


def grouped(rows: Iterable[Row], *names: str) -> defaultdict[tuple, list[Row]]:
    """Return rows by the values of some of their cells."""
    found: defaultdict[tuple, list[Row]] = defaultdict(list)
    for row in rows:
        found[tuple(row[name] for name in names)].append(row)
    return found


def changes(before: Iterable[Row], now: Iterable[Row]) -> list[Row]:
    """Return a record of each row whose points changed, with the cause."""
    old = {key(row): row for row in before}
    both = [(old[key(row)], row) for row in now if key(row) in old]
    return [
        {name: row[name] for name in ("student", "chapter", "exercise")}
        | {"points": [was["points"], row["points"]], "why": why(was, row)}
        for was, row in both
        if was["points"] != row["points"]
    ]


def why(was: Row, row: Row) -> str:
    """Return the cause of a change between two rows on the same exercise of a learner."""
    by_hand = [
        one.get("override") and (one["points"], one["max_points"], one["override"]["reason"])
        for one in (was, row)
    ]
    if by_hand[0] != by_hand[1]:
        return BY_HAND
    if was["file"] != row["file"]:
        return OTHER_FILE
    if found(was) != found(row):
        return AGAIN if was["graders"] == row["graders"] else OTHER_GRADERS
    return LATE


def in_trouble(row: Row) -> bool:
    """Return True if a row could not be graded as usual.

    An error that is recognized as a known mistake counts as graded.
    """
    return row["status"] in TROUBLE and not row["mistakes"]


def graders_failed(row: Row) -> bool:
    """Return True if the graders themselves failed on a row's file."""
    return row.get("message_id") in GRADERS_FAILED


# --- an instructor's decisions --------------------------------------------------------------------

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
    dues = {}
    for chapter in own:
        if due:
            dues[chapter] = check_deadline(with_zone(due, course.lateness.zone))
        elif (more := number_in("hours", hours)) > 0:
            moment = read_time(deadlines[chapter]) + timedelta(hours=more)
            dues[chapter] = in_zone(written(moment), course.lateness.zone)
        else:
            raise ValueError(f"hours must be more than 0, not {hours}")
    later = {c: d for c, d in dues.items() if read_time(d) >= read_time(deadlines[c])}
    if name != ALL and not later:
        raise ValueError(f"{dues[name]} is before the chapter's deadline, {deadlines[name]}")
    return {(student, c): {"due": due, "reason": reason} for c, due in later.items()}


# --- how the points come about, in sentences -----------------------------------------------------


def points_steps(row: dict) -> list[str]:
    """Return a sentence for each step from the maximum to the points that count.

    There are none for a row without mistakes, penalty, override and extension.

    >>> row = {"points": 3.2, "max_points": 5.0, "penalty": 0.8, "late_seconds": 3600.0}
    >>> points_steps(row | {"mistakes": ["no_scale"]})[:2]
    ['Graded: 4 of 5 points.', 'Lost for the mistake no_scale: 1 point.']
    >>> points_steps(row | {"mistakes": []})[2:]
    ['1 hour late: 0.8 points less.', 'What counts: 3.2 of 5 points.']
    """
    if not any(map(row.get, ("mistakes", "penalty", "override", "extension"))):
        return []
    steps = [f"Graded: {found(row):g} of {points(most_of(row))}."]
    lost = round(most_of(row) - found(row), 6)
    if lost > 0 and row.get("status") != "not_attempted":
        kind = "mistake" if len(row["mistakes"]) == 1 else "mistakes"
        named = f" for the {kind} {', '.join(row['mistakes'])}" if row["mistakes"] else ""
        steps.append(f"Lost{named}: {points(lost)}.")
    if extension := row.get("extension"):
        steps.append(f"Extension until {extension['due']}: {extension['reason'].rstrip('.')}.")
    if penalty := row.get("penalty"):
        steps.append(f"{late(row['late_seconds'])} late: {points(penalty)} less.")
    if decided := row.get("override"):
        what = f"gave {row['points']:g} points" if row["max_points"] else "excused this"
        steps.append(f"Your instructor {what}: {decided['reason'].rstrip('.')}.")
    return [*steps, f"What counts: {row['points']:g} of {points(row['max_points'])}."]


def points(number: float) -> str:
    """Return a number of points."""
    return "1 point" if number == 1 else f"{number:g} points"


def late(seconds: float) -> str:
    """Return a delay in words, rounded up to whole units, as the late penalty counts days.

    >>> late(61), late(3 * 3600), late(200_000)
    ('2 minutes', '3 hours', '3 days')
    """
    units = {"day": 86_400, "hour": 3600, "minute": 60}
    unit = next((unit for unit, size in units.items() if seconds >= size), "minute")
    return plural(-int(-seconds // units[unit]), unit)


# --- the grade for the term -----------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A learner's grade for the term. shares: the percentage for each chapter that counts.

    dropped: chapters that are left out as the lowest. total: in percent, rounded; None if the
    learner is excused from everything. passed: None without a pass mark.
    """

    shares: dict[str, float]
    dropped: tuple[str, ...]
    total: float | None
    passed: bool | None

    def told(self) -> str:
        """Return the term as a sentence."""
        if self.total is None:
            return "The term so far: excused from everything."
        left_out = f", without {', '.join(self.dropped)}" if self.dropped else ""
        state = {True: ": passed", False: ": not passed", None: ""}[self.passed]
        return f"The term so far: {self.total:g} of 100{left_out}{state}."


def terms_of(rows: Iterable[dict], course: Course) -> dict[str, Term]:
    """Return each learner's term; none for a course without a grading scheme."""
    if course.scheme is None:
        return {}
    sums = {
        about: (total(own), total(own, "max_points"))
        for about, own in grouped(rows, "student", "chapter").items()
    }
    graded = {chapter for _, chapter in sums}
    order = [chapter.name for chapter in course.chapters if chapter.name in graded]
    return {
        student: term_of({c: sums.get((student, c), (0, 1)) for c in order}, course, course.scheme)
        for student in sorted({student for student, _ in sums})
    }


def term_of(sums: dict[str, tuple[float, float]], course: Course, scheme: Scheme) -> Term:
    """Return one learner's term. sums: points and maximum by chapter; 0 of 0 is excused."""
    shares = {c: 100 * points / most for c, (points, most) in sums.items() if most}
    counted = [chapter for chapter in shares if chapter not in scheme.bonus]
    shown = {c: round_half_up(share, scheme.decimals) for c, share in shares.items()}
    if not counted:
        return Term(shown, (), None, None)
    lowest = sorted(counted, key=lambda chapter: shares[chapter])
    dropped = lowest[: min(scheme.drop_lowest, len(lowest) - 1)]
    weights = {
        c: scheme.weights.get(c, course.chapter(c).points) for c in shares if c not in dropped
    }
    whole = sum(weight for c, weight in weights.items() if c in counted)
    total = sum(shares[c] * weight for c, weight in weights.items()) / whole if whole else 0.0
    rounded = round_half_up(min(total, scheme.most or total), scheme.decimals)
    passed = None if scheme.pass_mark is None else rounded >= scheme.pass_mark
    return Term(shown, tuple(c for c in sums if c in dropped), rounded, passed)


def round_half_up(number: float, decimals: int) -> float:
    """Return a number rounded half up.

    >>> round_half_up(82.25, 1), round_half_up(0.5, 0), round_half_up(100 * 0.285, 1)
    (82.3, 1.0, 28.5)
    """
    unit = 10**decimals
    return math.floor(number * unit + 0.5 + 1e-9) / unit
