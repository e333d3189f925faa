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
from ..folders import write_file
from ..lateness import check_deadline, in_zone, read_time, with_zone, written
from ..sources.submitted_files import escaped
from ..views.csv_cells import in_csv
from .overrides import read_table
from .roster import Roster
from .worksheet import order_of, read_date

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


def import_extensions(
    out: Path, course: Course, roster: Roster, chapter: str, date_order: str = ""
) -> list[str]:
    """Add the extensions in a worksheet to `extensions.csv`, and return a line for each new one.

    Moodle writes them into the status column, which has no other dates. A learner who already has a
    line for this chapter keeps it, and a date before the class's deadline adds none. Raises
    CourseError.
    """
    name, zone = course.chapter(chapter).name, course.lateness.zone
    if "status" not in roster.columns:
        there = ", ".join(roster.header) or "no columns"
        raise CourseError(f"the worksheet has no column for the status; it has {there}")
    if not zone:
        raise CourseError("set zone in the Lateness of course_config.py: Moodle's dates have none")
    cells = {escaped(f): row["status"] for f, row in roster.by_folder().items()}
    order = order_of(cells.values(), date_order)
    dates = {student: read_date(cell, order) for student, cell in cells.items()}
    lines = [line for _, line in read_table(out / EXTENSIONS, COLUMNS)]
    known = {(line["student"], line["chapter"]) for line in lines}
    new = [
        [student, name, f"{date:%Y-%m-%d %H:%M} {zone}", "", "extension in Moodle"]
        for student, date in dates.items()
        if date is not None and (student, name) not in known
    ]
    taken = [line for line in new if is_longer(line, course)]
    kept = [[line[column] for column in COLUMNS] for line in lines]
    if taken:
        write_file(out / EXTENSIONS, in_csv(COLUMNS, [*kept, *taken]).encode())
    return [f"{student}: {name} until {due}" for student, _, due, *_ in taken]


def is_longer(line: list[str], course: Course) -> bool:
    """Return True if a line in a worksheet gives more time than the class has.

    Raises CourseError for a chapter without a deadline or an impossible time.
    """
    student, name, due, *_ = line
    before = course.lateness.deadlines.get(name)
    try:
        if before and read_time(due) < read_time(before):
            return False
        extensions_in(dict(zip(COLUMNS, line, strict=True)), course)
    except ValueError as error:
        raise CourseError(f"the extension of {student}: {error}") from None
    return True
