"""An instructor's decisions against the graders: `OUT/overrides.csv`, which `grade` never writes.

    student,exercise,points,reason
    ada,second_exercise,8,right but for a name
    ben,first_chapter,excused,ill

An excused exercise has no points and no maximum. The graders' result stays in the row as well, so
deleting a line restores it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ..course import Course, CourseError
from .roster import NOT_UTF8, read_csv

OVERRIDES = "overrides.csv"
COLUMNS = ("student", "exercise", "points", "reason")
EXCUSED = "excused"
Key = tuple[str, str, str]  # student, chapter, exercise


@dataclass(frozen=True)
class Override:
    """A decision. points: None if the exercise is excused. reason: learners read it too."""

    points: float | None
    reason: str


def read_overrides(out: Path, course: Course) -> dict[Key, Override]:
    """Return all decisions in the file; {} without a file. Raises CourseError."""
    path = out / OVERRIDES
    found: dict[Key, Override] = {}
    said: dict[tuple[str, ...], str] = {}
    for number, line in read_table(path, COLUMNS):
        try:
            found |= rows_of(line, course)
            student, name, points, _ = (line[column] for column in COLUMNS)
            if said.setdefault((student, name), points) != points:
                raise ValueError(f"an earlier line gives other points for {name} to {student}")
        except ValueError as error:
            raise CourseError(f"{path}, line {number}: {error}") from None
    return found


def read_table(path: Path, columns: tuple[str, ...]) -> list[tuple[int, dict[str, str]]]:
    """Return the lines of an instructor's CSV with their numbers. Raises CourseError.

    A missing file has no lines.
    """
    if not path.exists():
        return []
    try:
        return read_csv(path.read_bytes().decode("utf-8-sig"), columns)
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"{path} {NOT_UTF8}") from None
    except ValueError as error:
        raise CourseError(f"{path}, {error}") from None


def rows_of(line: dict[str, str], course: Course) -> dict[Key, Override]:
    """Return the decisions of one line. Raises ValueError with a sentence."""
    student, name, points, reason = (line[column] for column in COLUMNS)
    if not (student and reason):
        raise ValueError("student and reason must not be empty")
    override = Override(None if points == EXCUSED else number_in(points), reason)
    about = exercises_of(name, course)
    if override.points is not None and len(about) > 1:
        raise ValueError(
            f"a chapter such as {name} can only be excused; give points to its exercises"
        )
    for chapter, exercise, most in about:
        if override.points is not None and not 0 <= override.points <= most:
            raise ValueError(f"{exercise} of {chapter} gives 0 to {most:g} points, not {points}")
    return {(student, chapter, exercise): override for chapter, exercise, _ in about}


def number_in(points: str) -> float:
    """Return points as a spreadsheet may have written them. Raises ValueError."""
    try:
        return float(points.replace(",", "."))
    except ValueError:
        raise ValueError(f"points must be a number or `{EXCUSED}`, not {points!r}") from None


def exercises_of(name: str, course: Course) -> list[tuple[str, str, float]]:
    """Return (chapter, exercise, points) of an exercise or a whole chapter. Raises ValueError."""
    found = [
        (chapter.name, exercise.name, exercise.points)
        for chapter in course.chapters
        for exercise in chapter.exercises
        if name in (chapter.name, exercise.name)
    ]
    if not found:
        raise ValueError(f"the course has no exercise and no chapter {name!r}")
    return found


def overridden(row: dict, overrides: dict[Key, Override]) -> dict:
    """Return a row with an instructor's decision, if any. Such a row has no late penalty."""
    given = overrides.get((row["student"], row["chapter"], row["exercise"]))
    return row if given is None else decided(as_found(row), given)


def decided(row: dict, given: Override) -> dict:
    """Return a row with this decision."""
    found = round(row["points"] + row.get("penalty", 0.0), 6)
    told = {"found": found, "of": row["max_points"], "reason": given.reason}
    most = 0.0 if given.points is None else row["max_points"]
    return row | {
        "points": given.points or 0.0,
        "max_points": most,
        "penalty": 0.0,
        "override": told,
    }


def as_found(row: dict) -> dict:
    """Return a row with the graders' result, before overrides."""
    told = row.get("override")
    if told is None:
        return row
    kept = {name: value for name, value in row.items() if name != "override"}
    return kept | {"points": told["found"], "max_points": told["of"], "penalty": 0.0}


def decision_sentence(row: dict) -> str:
    """Return the decision as a sentence; "" if there is none."""
    told = row.get("override")
    if told is None:
        return ""
    what = f"gave {row['points']:g} points" if row["max_points"] else "excused this"
    return f"Your instructor {what}: {told['reason'].rstrip('.')}."


def unknown(file: str, named: Iterable[str], students: Collection[str]) -> list[str]:
    """Return a note on unknown names in an instructor's file, with similar names of learners.

    >>> unknown("overrides.csv", ["adda"], ["ada", "ben"])
    ['overrides.csv names learners without results: adda (did you mean ada?)']
    """
    strange = []
    for name in sorted(set(named) - set(students)):
        similar = get_close_matches(name, students, n=2)
        strange.append(f"{name} (did you mean {' or '.join(similar)}?)" if similar else name)
    return [f"{file} names learners without results: {', '.join(strange)}"] if strange else []
