"""Read a class list from the CSV of any course system."""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..course import CourseError
from .worksheet import IDENTIFIER, english, number_of

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
COLUMN_OF = [(name, column) for name, columns in FACTS.items() for column in columns]
SPLIT_NAMES = (("lastname", "firstname"), ("last name", "first name"), ("last_name", "first_name"))
IDENTIFYING = [column for name, columns in FACTS.items() if name != "section" for column in columns]
ROLES = ("role", "roles")
STAFF = re.compile(r"\b(instructor|teacher|assistant|ta|reader|grader|staff|observer)s?\b", re.I)
POSSIBLE = "points possible"  # a row in Canvas' gradebook
NO_PERSON = (POSSIBLE, "student, test", "test student")
NOT_UTF8 = 'is not UTF-8 text; in Excel, save it as "CSV UTF-8"'


@dataclass(frozen=True)
class Roster:
    """A class list. An empty one has no rows.

    header: the column names as written. columns: the same in lower case, those of Moodle's
    worksheet in English. rows: each learner's cells by column. raw: the same cells, unchanged.
    lines: their line numbers. possible: Canvas' row of possible points, unchanged. separator,
    has_bom: the format of the file. staff: the number of rows that are no learner's.
    """

    path: Path = Path()
    header: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[dict[str, str], ...] = ()
    raw: tuple[tuple[str, ...], ...] = ()
    lines: tuple[int, ...] = ()
    possible: tuple[str, ...] = field(default=())
    separator: str = ","
    has_bom: bool = False
    staff: int = 0

    @property
    def is_worksheet(self) -> bool:
        """Return True for Moodle's grading worksheet."""
        return IDENTIFIER in self.columns


def read_roster(path: Path | None) -> Roster:
    """Return the class list in a CSV file; an empty one without a file. Raises CourseError."""
    if path is None:
        return Roster()
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
        (_, header), *lines = [*lines_of(text)] or [(1, [])]
        columns = tuple(english(header, [line for _, line in lines]))
        rows = [by_column(columns, line) for _, line in lines]
        check_one_line(columns, [number for number, _ in lines], rows)
    except OSError as error:
        raise CourseError(f"the roster {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"the roster {path} {NOT_UTF8}") from None
    except ValueError as error:
        raise CourseError(f"the roster {path}, {error}") from None
    if not {*IDENTIFYING, IDENTIFIER} & set(columns):
        there = f"; it has {', '.join(header)}" if any(header) else ""
        raise CourseError(f"the roster {path} has none of the columns {', '.join(WANTED)}{there}")
    listed = [at for at, row in enumerate(rows) if is_person(row)]
    own = [at for at in listed if not is_staff(rows[at])]
    if not own:
        raise CourseError(f"the roster {path} has a header, but no learners")
    possible = [tuple(line) for _, line in lines if any(POSSIBLE in c.casefold() for c in line)]
    return Roster(
        path,
        tuple(name.strip() for name in header),
        columns,
        tuple(rows[at] for at in own),
        tuple(tuple(lines[at][1]) for at in own),
        tuple(lines[at][0] for at in own),
        possible[0] if possible else (),
        separator_of(text),
        content.startswith(codecs.BOM_UTF8),
        len(listed) - len(own),
    )


WANTED = [column for name in ("login", "id_number", "email", "sid", "canvas_id")
          for column in FACTS[name]]  # fmt: skip


def check_one_line(columns: tuple[str, ...], lines: list[int], rows: list[dict[str, str]]) -> None:
    """Raise ValueError if an identifying cell has a line break, because a quote is not closed."""
    own = [name for name in columns if name in IDENTIFYING and name not in FACTS["name"]]
    for number, row in zip(lines, rows, strict=True):
        for name in own:
            if "\n" in row[name]:
                raise ValueError(f"line {number}: {name!r} has a line break; is a quote missing?")


def is_person(row: dict[str, str]) -> bool:
    """Return True for a person's row. Canvas' lists have a row of points and one for tests."""
    told = facts_in(row)
    return any(told.values()) and told["name"].casefold() not in NO_PERSON


def is_staff(row: dict[str, str]) -> bool:
    """Return True if a role in the row says that the person teaches."""
    return any(STAFF.search(row.get(name, "")) for name in ROLES)


def facts_in(row: dict[str, str]) -> dict[str, str]:
    """Return what a row of a class list says about a person, by the names in FACTS."""
    told = dict.fromkeys(FACTS, "")
    for name, column in COLUMN_OF:
        told[name] = told[name] or row.get(column, "")
    for last, first in SPLIT_NAMES:
        told["name"] = told["name"] or f"{row.get(first, '')} {row.get(last, '')}".strip()
    if "@" in told["login"] and not told["email"]:  # many systems use the address as login
        told["email"] = told["login"]
    return told


def participants(roster: Roster) -> dict[str, int]:
    """Return the rows of a worksheet by the number of a participant."""
    numbers = [number_of(row.get(IDENTIFIER, "")) for row in roster.rows]
    return {number: at for at, number in enumerate(numbers) if number}


def read_csv(text: str, columns: Iterable[str] = ()) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a CSV by lower-case column name, each with the number of its line.

    Raises ValueError with the line if one of these columns is missing, or if a row has more cells
    than the header.
    """
    (first, header), *rest = [*lines_of(text)] or [(1, [])]
    names = by_column(tuple(header), header)
    if missing := [name for name in columns if name not in names]:
        needed = f"{', '.join(columns)} are needed in the first line"
        raise ValueError(f"line {first}: there is no column {', '.join(missing)}; {needed}")
    for number, line in rest:
        if any(cell.strip() for cell in line[len(header) :]):
            counts = f"{len(line)} cells, but the header has {len(header)}"
            raise ValueError(f"line {number}: there are {counts}; put a cell with commas in quotes")
    return [(number, by_column(tuple(header), line)) for number, line in rest]


def by_column(header: tuple[str, ...], line: list[str]) -> dict[str, str]:
    """Return a row's cells by lower-case column name; missing ones are empty."""
    names = [name.strip().casefold() for name in header]
    cells = [cell.strip() for cell in line] + [""] * (len(names) - len(line))
    return dict(zip(names, cells, strict=False))


def lines_of(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each filled line of a CSV with its number. Cells end at commas, semicolons or tabs.

    Raises ValueError with the number of the line if a quote is not closed.
    """
    before = csv.field_size_limit(len(text) + 1)  # a long cell must not affect the other rows
    try:
        file = io.StringIO(text, newline=None)  # carriage returns alone end lines too
        reader = csv.reader(file, delimiter=separator_of(text), strict=True)
        number = 1
        while True:
            try:
                line = next(reader, None)
            except csv.Error as error:
                raise ValueError(f"line {number}: a quote is not closed ({error})") from None
            if line is None:
                return
            if line:
                yield number, line
            number = reader.line_num + 1
    finally:
        csv.field_size_limit(before)


def separator_of(text: str) -> str:
    """Return the separator of a CSV: the most frequent of the three in its first line."""
    return max(",;\t", key=re.split(r"[\r\n]", text, maxsplit=1)[0].count)
