"""Later deadlines for single learners: `OUT/extensions.csv`, which `grade` never writes.

    student,chapter,due,hours,reason
    ada,first_chapter,2027-01-20 23:59 Europe/Berlin,,ill
    ben,all,,48,accommodation

A line has either a new deadline or extra hours. `all` means every chapter with a deadline, but a
chapter with a later deadline keeps it. A line on a single chapter has priority over it.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from ..course import Course, CourseError
from ..lateness import check_deadline, in_zone, read_time, with_zone, written
from .overrides import read_table

EXTENSIONS = "extensions.csv"
COLUMNS = ("student", "chapter", "due", "hours", "reason")
ALL = "all"
About = tuple[str, str]  # student, chapter


@dataclass(frozen=True)
class Extension:
    """An extended deadline. due: in the format of `read_time`. reason: learners read it too."""

    due: str
    reason: str

    def told(self) -> dict[str, str]:
        """Return the extension as a row holds it."""
        return {"due": self.due, "reason": self.reason}


def read_extensions(out: Path, course: Course) -> dict[About, Extension]:
    """Return all extensions, by learner and chapter; {} without a file. Raises CourseError."""
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
    """Return the extensions of one line. Raises ValueError with a sentence."""
    student, name, due, hours, reason = (line[column] for column in COLUMNS)
    if not (student and reason):
        raise ValueError("say whose deadline is extended, and why")
    if bool(due) == bool(hours):
        raise ValueError("give either a new deadline or extra hours")
    chapters = [chapter.name for chapter in course.chapters]
    if name not in (ALL, *chapters):
        raise ValueError(f"the course has no chapter {name!r}; `{ALL}` means every chapter")
    deadlines = course.lateness.deadlines
    if name != ALL and name not in deadlines:
        raise ValueError(f"{name} has no deadline in course_config.py")
    own = [name] if name != ALL else [chapter for chapter in chapters if chapter in deadlines]
    return {
        (student, chapter): Extension(moment, reason)
        for chapter in own
        if (moment := new_due(due, hours, deadlines[chapter], course, name))
    }


def new_due(due: str, hours: str, before: str, course: Course, name: str) -> str:
    """Return the new deadline; "" if `all` is meant and the class has more time. Raises ValueError.

    before: the deadline of the class. name: the chapter that the line names, or `all`.
    """
    if due:
        whole = with_zone(due, course.lateness.zone)
        check_deadline(whole)
        if read_time(whole) >= read_time(before):
            return whole
        if name == ALL:
            return ""
        raise ValueError(f"{whole} is before the chapter's deadline, {before}")
    try:
        extra = timedelta(hours=float(hours.replace(",", ".")))
    except (ValueError, OverflowError):
        raise ValueError(f"hours must be a number, not {hours!r}") from None
    if extra <= timedelta(0):
        raise ValueError(f"hours must be more than 0, not {hours}")
    moment = read_time(before) + extra
    local = in_zone(written(moment), course.lateness.zone)
    return local if read_time(local) == moment else written(moment)  # in an hour that occurs twice
