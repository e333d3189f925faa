"""Who is in the class, from whatever list of it a course system gives out as CSV."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..course import CourseError

# What names a learner in folders and rows: the first of these columns that is filled in.
NAMED_BY = (
    "sis login id",
    "sis user id",
    "username",
    "student_id",
    "id number",
    "email address",
    "email",
    "sid",
    "id",
    "identifier",
    "student",
)
POSSIBLE = "points possible"
NOT_A_LEARNER = (POSSIBLE, "student, test")


@dataclass(frozen=True)
class Roster:
    """column: what names a learner. rows: everybody's cells by the column's name, in small letters.

    header: the names of the columns as they are written. possible: Canvas' row on what can be had,
    as the rows. An empty roster has none of these.
    """

    column: str = ""
    rows: tuple[dict[str, str], ...] = ()
    header: tuple[str, ...] = ()
    possible: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Everybody, as named in folders and rows."""
        return [row[self.column] for row in self.rows]

    def find(self, column: str, value: str) -> dict[str, str] | None:
        """The one learner with that value in a column."""
        found = [row for row in self.rows if row.get(column, "").casefold() == value.casefold()]
        return found[0] if value and len(found) == 1 else None

    def by_name(self) -> dict[str, dict[str, str]]:
        """Everybody's cells by name."""
        return {row[self.column]: row for row in self.rows}


def read_roster(path: Path | None) -> Roster:
    """The roster in a CSV file; an empty one without a file. Raises CourseError."""
    if path is None:
        return Roster()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CourseError(f"the roster {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"the roster {path} is not UTF-8 text") from None
    lines = read_csv(text)
    people = [row for row in lines if is_learner(row)]
    possible = next((row for row in lines if POSSIBLE in map(str.casefold, row.values())), {})
    columns = [name for name in NAMED_BY if people and name in people[0]]
    if not columns:
        raise CourseError(f"the roster {path} has none of the columns {', '.join(NAMED_BY)}")
    # The first that most have: lists often have columns that nobody filled in.
    column = max(columns, key=lambda name: sum(bool(row[name]) for row in people))
    learners = tuple(row for row in people if row[column])
    names = [row[column] for row in learners]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CourseError(f"the roster {path} names {', '.join(twice[:5])} twice, in {column!r}")
    if not learners:
        raise CourseError(f"the roster {path} names nobody in its column {column!r}")
    return Roster(column, learners, header_of(text), possible)


def is_learner(row: dict[str, str]) -> bool:
    """Whether a row is about a person: Canvas' lists have a row on points, and one for tests."""
    return not any(value.casefold() in NOT_A_LEARNER for value in row.values())


def read_csv(text: str) -> list[dict[str, str]]:
    """The rows of a CSV by small column names; commas, semicolons or tabs."""
    header = [name.casefold() for name in header_of(text)]
    lines = list(csv.reader(io.StringIO(text), delimiter=separator_of(text)))[1:]
    return [dict(zip(header, padded(line, len(header)), strict=False)) for line in lines if line]


def header_of(text: str) -> tuple[str, ...]:
    """The names of a CSV's columns, as they are written."""
    first = next(csv.reader(io.StringIO(text), delimiter=separator_of(text)), [])
    return tuple(name.strip() for name in first)


def separator_of(text: str) -> str:
    """What stands between a CSV's cells: that of the three which its first line has most of."""
    return max(",;\t", key=text.partition("\n")[0].count)


def padded(line: list[str], width: int) -> list[str]:
    """A row with a cell for each column."""
    return [cell.strip() for cell in line] + [""] * (width - len(line))


def in_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV of our own cells, of which no spreadsheet takes one for a formula."""
    return as_csv(header, ([harmless(cell) for cell in row] for row in rows))


def as_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A CSV of cells as they are: what a course system gave out goes back unchanged."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def harmless(cell: object) -> object:
    """A cell that a spreadsheet shows, and does not work out. A dash alone is no formula.

    >>> harmless("=1+1"), harmless("ada"), harmless(-1.5), harmless("-")
    ("'=1+1", 'ada', -1.5, '-')
    """
    begins = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{cell}" if begins and cell != "-" else cell
