"""Read a class list from the CSV of any course system."""

import codecs
import csv
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from ..course import CourseError
from .folder_names import Claim, unique_folders
from .worksheet import IDENTIFIER, english

# The columns that can name a learner in folders and rows. The one that most rows fill in counts; of
# several such, the first.
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
# The columns in each course system's own list.
COLUMNS = {
    "moodle": ("username", "id number", "email address", "identifier"),
    "canvas": ("sis login id", "sis user id", "id"),
    "gradescope": ("sid", "email", "email address"),
}
POSSIBLE = "points possible"
NOT_A_LEARNER = (POSSIBLE, "student, test")
LONGEST_CELL = 100_000  # characters; a row with a longer cell is skipped
LARGEST_ROSTER = 64 << 20  # bytes


@dataclass(frozen=True)
class Roster:
    """A class list. An empty one has no rows.

    column: the column that names learners. rows: each learner's cells by lower-case column name.
    header: the column names as written. columns: the same in lower case, those of Moodle's
    worksheet in English. raw: each learner's cells, unchanged. separator, has_bom: the format of
    the file. possible: Canvas' row of possible points, like the rows. notes: sentences about rows
    that were skipped.
    """

    column: str = ""
    rows: tuple[dict[str, str], ...] = ()
    header: tuple[str, ...] = ()
    possible: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    raw: tuple[tuple[str, ...], ...] = ()
    separator: str = ","
    has_bom: bool = False

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folder name of each row: the learner's name there, with an id if names collide."""
        claims = []
        for row in self.rows:
            others = (row.get(name) for name in reversed(NAMED_BY) if name != self.column)
            own = next(filter(None, others), "").rpartition(" ")[2]  # the 12 of `Participant 12`
            claims.append(Claim(row[self.column], own, "\0".join(row.values())))
        return tuple(unique_folders(claims))

    def by_folder(self) -> dict[str, dict[str, str]]:
        """Return each learner's cells by folder name."""
        return dict(zip(self.folders, self.rows, strict=True))

    @cached_property
    def positions(self) -> dict[tuple[str, str], list[int]]:
        """The row numbers by column and lower-case value."""
        found: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            for column, value in row.items():
                if value and len(value) <= LONGEST_NAMING:
                    found[column, value.casefold()].append(number)
        return found

    def find(self, column: str, value: str) -> int | None:
        """Return the number of the only row with this value in a column."""
        found = self.positions.get((column, value.casefold()), []) if value else []
        if len(found) > 1:
            found = [number for number in found if self.rows[number][column] == value]
        return found[0] if len(found) == 1 else None


NOT_UTF8 = 'is not UTF-8 text; in Excel, save it as "CSV UTF-8"'
LONGEST_NAMING = 1000  # characters of a cell that is searched for


def read_roster(path: Path | None, layout: str = "") -> Roster:
    """Return the roster in a CSV file; an empty one without a file. Raises CourseError.

    layout: the course system that exported it, if that is known.
    """
    if path is None:
        return Roster()
    everything = read_people(path)
    raw = {id(row): line for row, line in zip(everything.rows, everything.raw, strict=True)}
    people = [row for row in everything.rows if is_learner(row)]
    possible = next(
        (row for row in everything.rows if POSSIBLE in map(str.casefold, row.values())), {}
    )
    columns = [name for name in NAMED_BY if name in everything.columns]
    if columns and not people:
        raise CourseError(f"the roster {path} has a header, but no learners")
    if not columns:
        wanted, there = ", ".join(COLUMNS.get(layout, NAMED_BY)), ", ".join(everything.header)
        why = f"has none of the columns {wanted}"
        raise CourseError(f"the roster {path} {why}" + (f"; it has {there}" if there else ""))
    if layout == "moodle" and IDENTIFIER not in people[0]:
        why = f"has no column of participant numbers, only {', '.join(everything.header)}"
        raise CourseError(f"{path} {why}; give Moodle's grading worksheet as --roster")
    # Lists often have empty columns, so the column that most rows fill in is taken.
    column = max(columns, key=lambda name: sum(bool(row[name]) for row in people))
    learners = tuple(row for row in people if row[column])
    check_different(path, column, learners)
    if not learners:
        raise CourseError(f"the roster {path} has no names in its column {column!r}")
    own = tuple(raw[id(row)] for row in learners)
    return replace(everything, column=column, rows=learners, raw=own, possible=possible)


def read_people(path: Path) -> Roster:
    """Return a roster with all rows, even those that are not learners. Raises CourseError."""
    try:
        if path.stat().st_size > LARGEST_ROSTER:
            raise CourseError(f"the roster {path} has more than {LARGEST_ROSTER} bytes")
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise CourseError(f"the roster {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise CourseError(f"the roster {path} {NOT_UTF8}") from None
    try:
        header, *lines = [*lines_of(text)] or [(1, [])]
        names = tuple(name.strip() for name in header[1])
        good = [(n, line) for n, line in lines if all(len(c) <= LONGEST_CELL for c in line)]
        columns = english(list(names), [line for _, line in good])
        rows = [by_column(tuple(columns), line) for _, line in good]
        check_one_line([(n, row) for (n, _), row in zip(good, rows, strict=True)])
    except ValueError as error:
        raise CourseError(f"the roster {path}, {error}") from None
    skipped = [n for n, line in lines if any(len(cell) > LONGEST_CELL for cell in line)]
    notes = [
        f"the roster's row in line {n} has a cell of over {LONGEST_CELL} characters; it was skipped"
        for n in skipped[:3]
    ]
    if len(skipped) > 3:
        notes.append(f"{len(skipped) - 3} more rows of the roster were skipped for this")
    return Roster(
        rows=tuple(rows),
        header=names,
        notes=tuple(notes),
        columns=tuple(columns),
        raw=tuple(tuple(line) for _, line in good),
        separator=separator_of(text),
        has_bom=content.startswith(codecs.BOM_UTF8),
    )


def check_different(path: Path, column: str, learners: tuple[dict[str, str], ...]) -> None:
    """Raise CourseError if two rows are equal in all identifying columns."""
    keys = Counter(tuple(row.get(name, "") for name in NAMED_BY) for row in learners)
    twice = sorted(
        {row[column] for row in learners if keys[tuple(row.get(name, "") for name in NAMED_BY)] > 1}
    )
    if twice:
        raise CourseError(f"the roster {path} names {', '.join(twice[:5])} twice, in {column!r}")


def check_one_line(rows: list[tuple[int, dict[str, str]]]) -> None:
    """Raise ValueError if an identifying cell has a line break, because a quote is not closed."""
    for number, row in rows:
        for name in NAMED_BY:
            if "\n" in row.get(name, ""):
                raise ValueError(f"line {number}: {name!r} has a line break; is a quote missing?")


def is_learner(row: dict[str, str]) -> bool:
    """Return True for a person's row. Canvas' lists have a row of points and one for tests."""
    return not any(value.casefold() in NOT_A_LEARNER for value in row.values())


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
    """Return a row's cells by lower-case column name."""
    names = [name.strip().casefold() for name in header]
    return dict(zip(names, padded(line, len(names)), strict=False))


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


def padded(line: list[str], width: int) -> list[str]:
    """Return a row's cells, stripped, with empty ones added up to this number of columns."""
    return [cell.strip() for cell in line] + [""] * (width - len(line))
