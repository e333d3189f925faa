"""Later deadlines for single learners: `OUT/extensions.csv`, which no run writes.

    student,chapter,due,hours,reason
    ada,first_chapter,2027-01-20 23:59,,ill
    ben,all,,48,accommodation

A line has either a new deadline or extra hours. `all` stands for every chapter with a deadline; a
line on a single chapter goes before it.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..course import Course, CourseError
from ..lateness import check_deadline, read_time, with_zone, written
from .overrides import read_table

EXTENSIONS = "extensions.csv"
COLUMNS = ("student", "chapter", "due", "hours", "reason")
ALL = "all"
About = tuple[str, str]  # student, chapter


@dataclass(frozen=True)
class Extension:
    """due: as `read_time` reads it. reason: for the learner to read, too."""

    due: str
    reason: str

    def told(self) -> dict[str, str]:
        """Return what a row says of it."""
        return {"due": self.due, "reason": self.reason}


def read_extensions(out: Path, course: Course) -> dict[About, Extension]:
    """Return all extensions, by learner and chapter; none without a file. Raises CourseError."""
    term: dict[About, Extension] = {}
    single: dict[About, Extension] = {}
    for number, line in read_table(out / EXTENSIONS, COLUMNS):
        try:
            found = extensions_in(line, course)
            kind = term if line["chapter"] == ALL else single
            if twice := found.keys() & kind.keys():
                raise ValueError(f"a line above extends {' for '.join(sorted(twice)[0][::-1])}")
            kind |= found
        except ValueError as error:
            raise CourseError(f"{out / EXTENSIONS}, line {number}: {error}") from None
    return term | single


def extensions_in(line: dict[str, str], course: Course) -> dict[About, Extension]:
    """Return what one line says. Raises ValueError with a sentence."""
    student, name, due, hours, reason = (line[column] for column in COLUMNS)
    if not (student and reason):
        raise ValueError("say whose deadline is extended, and why")
    if bool(due) == bool(hours):
        raise ValueError("give either a new deadline or extra hours")
    chapters = [chapter.name for chapter in course.chapters]
    if name not in (ALL, *chapters):
        raise ValueError(f"the course has no chapter {name!r}; `{ALL}` stands for every chapter")
    deadlines = course.lateness.deadlines
    if name != ALL and name not in deadlines:
        raise ValueError(f"{name} has no deadline in course_config.py")
    own = [name] if name != ALL else [chapter for chapter in chapters if chapter in deadlines]
    return {
        (student, chapter): Extension(new_due(due, hours, deadlines[chapter], course), reason)
        for chapter in own
    }


def new_due(due: str, hours: str, before: str, course: Course) -> str:
    """Return the new deadline. before: that of the class. Raises ValueError."""
    if due:
        whole = with_zone(due, course.lateness.zone)
        check_deadline(whole)
        return whole
    try:
        extra = timedelta(hours=float(hours.replace(",", ".")))
    except (ValueError, OverflowError):
        raise ValueError(f"hours are a number, not {hours!r}") from None
    if extra <= timedelta(0):
        raise ValueError(f"hours are more than 0, not {hours}")
    return written(read_time(before) + extra)
