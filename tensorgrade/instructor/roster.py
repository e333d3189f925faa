"""Read class lists: the CSV of any course system, and Moodle's worksheet in many languages."""

import re
import tomllib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path

from ..course import CourseError
from ..views.csv_cells import by_column, lines_of

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

    def check_worksheet(self) -> None:
        """Raise CourseError if this is not Moodle's grading worksheet."""
        if IDENTIFIER not in self.columns:
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


# --- Moodle's grading worksheet -------------------------------------------------------------------

WORDS = tomllib.loads(Path(__file__).with_name("worksheets.toml").read_text("utf-8"))
COLUMNS = WORDS["columns"]  # English names, with those of other languages
ENGLISH = {name: english for english, names in COLUMNS.items() for name in names}
IDENTIFIER, STATUS, DUE = "identifier", "status", "due date"
SUBMITTED_AT = "last modified (submission)"
UNNAMED = (IDENTIFIER, "identifiant", "identificador", "identificativo", "identificatie")
WORKSHEETS_OWN = {name for name in COLUMNS if "grade" in name or "(" in name or "feedback" in name}
NUMBERED = re.compile(r"(\D*[^\d\s] ?)(\d{1,18})")  # German worksheets have no space
NO = {"no", "nein", "non", "nee", "não"}
MONTH = {name: int(n) for n, names in WORDS["months"].items() for name in names.split()}
WORD = rf"\b(?P<month>{'|'.join(sorted(MONTH, key=len, reverse=True))})"
TIME = (
    r"\D{1,12}(?P<hour>\d{1,2})[:h.](?P<minute>\d\d)(:(?P<second>\d\d))?"
    r"(\s*(?P<half>[ap])\.?\s?m\b)?"
)
DATES = [
    re.compile(date + TIME)
    for date in (
        r"\b(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        rf"\b(?P<day>\d{{1,2}})[.ºª]?\s+(de\s+)?{WORD}\s+(de\s+)?(?P<year>\d{{4}})",
        rf"{WORD}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})",
    )
]
# The status of files that a learner has not submitted yet.
DRAFT = re.compile(r"(draft|entwurf|brouillon|borrador|bozza|concept|rascunho)\b", re.IGNORECASE)


def english(header: Sequence[str]) -> list[str]:
    """Return the columns' names in lower case, and those of a worksheet in English.

    Other lists have columns such as `id` and `note` too.

    >>> english(["ID", "Bewertung"]), english(["ID", "Note 1"])
    (['identifier', 'grade'], ['id', 'note 1'])
    """
    names = [name.strip().casefold() for name in header]
    known = [ENGLISH.get(name, name) for name in names]
    if names[0] in UNNAMED or (names[0] == "id" and WORKSHEETS_OWN & set(known)):
        return [IDENTIFIER, *known[1:]]
    return names


def number_of(identifier: str) -> str:
    """Return the number of a participant in any language; "" if there is none."""
    found = NUMBERED.fullmatch(identifier)
    return found[2] if found else ""


def read_date(text: str) -> datetime | None:
    """Return the local time in a worksheet's cell; None if there is none that is understood.

    Moodle writes months as words.

    >>> str(read_date("Montag, 5. Oktober 2026, 14:30"))
    '2026-10-05 14:30:00'
    >>> str(read_date("2026-10-05 2:30 PM")), read_date("10/5/2026, 2:30 PM")
    ('2026-10-05 14:30:00', None)
    """
    for date in DATES:
        if found := date.search(text.casefold()):
            hour, half = int(found["hour"]), found["half"]
            if half:
                hour = hour % 12 + (12 if half == "p" else 0)
            month = MONTH.get(found["month"]) or int(found["month"])
            with suppress(ValueError):
                day = int(found["year"]), month, int(found["day"])
                return datetime(*day, hour, int(found["minute"]), int(found["second"] or 0))
    return None
