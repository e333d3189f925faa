"""Read a class list from the CSV of any course system."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ..course import CourseError
from ..views.csv_cells import by_column, lines_of
from .worksheet import IDENTIFIER, english

Person = dict[str, str]  # by the columns of people.csv
# What we know about a person, and the columns that say it; the first ones name new folders.
FACTS = {
    "login": ("sis login id", "username", "student_id"),
    "id_number": ("sis user id", "id number"),
    "email": ("email address", "email"),
    "sid": ("sid",),
    "canvas_id": ("id",),
    "git": ("github_username",),
    "name": ("full name", "student", "name"),
    "section": ("section", "sections", "groups"),
}
SPLIT_NAMES = (("lastname", "firstname"), ("last name", "first name"), ("last_name", "first_name"))
IDENTIFYING = [column for name in FACTS if name != "section" for column in FACTS[name]]
ROLES = ("role", "roles")
STAFF = re.compile(r"\b(instructor|teacher|assistant|ta|reader|grader|staff|observer)s?\b", re.I)
POSSIBLE = "points possible"  # a row in Canvas' gradebook
NO_PERSON = (POSSIBLE, "student, test", "test student")


@dataclass
class Row:
    """A row of a class list. line: its number in the file. raw: the cells, unchanged.

    cells: by column. person: whose row it is, after `People.update`.
    """

    line: int
    raw: list[str]
    cells: dict[str, str]
    person: Person = field(default_factory=dict)

    @cached_property
    def facts(self) -> Person:
        """What the row says about a person, by the names in FACTS."""
        cells = self.cells
        told = {
            name: next(filter(None, (cells.get(column, "") for column in columns)), "")
            for name, columns in FACTS.items()
        }
        for last, first in SPLIT_NAMES:
            told["name"] = told["name"] or f"{cells.get(first, '')} {cells.get(last, '')}".strip()
        if "@" in told["login"] and not told["email"]:  # many systems use the address as login
            told["email"] = told["login"]
        return told


@dataclass(frozen=True)
class Roster:
    """A class list. An empty one has no rows.

    header: the column names as written. columns: the same in lower case, those of Moodle's
    worksheet in English. rows: the learners. staff: the number of other people. possible: Canvas'
    row of possible points, unchanged.
    """

    path: Path = Path()
    header: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    staff: int = 0
    possible: tuple[str, ...] = ()

    @property
    def is_worksheet(self) -> bool:
        """Return True for Moodle's grading worksheet."""
        return IDENTIFIER in self.columns

    def check_worksheet(self) -> None:
        """Raise CourseError if this is not Moodle's grading worksheet."""
        if not self.is_worksheet:
            told = "Moodle's numbers are in its grading worksheet; give it with --roster"
            raise CourseError(told)


def read_roster(path: Path | None) -> Roster:
    """Return the class list in a CSV file; an empty one without a file. Raises CourseError.

    Canvas' lists also have a row of points and one for tests.
    """
    if path is None:
        return Roster()
    (_, header), *lines = lines_of(path)
    columns = english(header)
    if not {*IDENTIFYING, IDENTIFIER} & set(columns):
        there = f"; it has {', '.join(header)}" if any(header) else ""
        wanted = ", ".join(IDENTIFYING)
        raise CourseError(f"the roster {path} has none of the columns {wanted}{there}")
    learners, staff = [], 0
    for number, line in lines:
        row = Row(number, line, by_column(columns, line))
        if broken := [name for name, told in row.facts.items() if "\n" in told and name != "name"]:
            told = f"{broken[0]!r} has a line break; is a quote missing?"
            raise CourseError(f"the roster {path}, line {number}: {told}")
        if any(STAFF.search(row.cells.get(name, "")) for name in ROLES):
            staff += 1
        elif any(row.facts.values()) and row.facts["name"].casefold() not in NO_PERSON:
            learners.append(row)
    if not learners:
        raise CourseError(f"the roster {path} has a header, but no learners")
    possible = [line for _, line in lines if any(POSSIBLE in cell.casefold() for cell in line)]
    names = tuple(name.strip() for name in header)
    return Roster(path, names, tuple(columns), tuple(learners), staff, tuple(*possible[:1]))
