"""Read and write tables as CSV, for spreadsheets and course systems."""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path

from ..course import CourseError
from ..folders import write_file

csv.field_size_limit(2**31 - 1)  # a worksheet of Moodle may hold long texts of learners
Line = tuple[int, list[str]]  # its number in the file, and its cells


def lines_of(path: Path) -> list[Line]:
    """Return the filled lines of a CSV; there is always a first one. Raises CourseError.

    Cells end at commas, semicolons or tabs.
    """
    lines, number = [], 1
    try:
        text = path.read_bytes().decode("utf-8-sig")
        # Carriage returns alone end lines too.
        file = io.StringIO(text, newline=None)
        reader = csv.reader(file, delimiter=separator_of(text), strict=True)
        for line in reader:
            if line:
                lines.append((number, line))
            number = reader.line_num + 1
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        told = f'{path} is not UTF-8 text; in Excel, save it as "CSV UTF-8"'
        raise CourseError(told) from None
    except csv.Error as error:
        told = f"{path}, line {number}: a quote is not closed ({error})"
        raise CourseError(told) from None
    return lines or [(1, [""])]


def separator_of(text: str) -> str:
    """Return the separator of a CSV: the most frequent of the three in its first line."""
    return max(",;\t", key=re.split(r"[\r\n]", text, maxsplit=1)[0].count)


def read_table(path: Path, columns: Iterable[str]) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of our own CSV by lower-case column name, each with the number of its line.

    A missing file has none. The marks that `in_csv` adds are removed. Raises CourseError with the
    line if one of these columns is missing, or if a row has more cells than the header.
    """
    if not path.is_file():
        return []
    (first, header), *rest = lines_of(path)
    names = [name.strip().casefold() for name in header]
    if missing := [name for name in columns if name not in names]:
        needed = f"{', '.join(columns)} are needed in the first line"
        told = f"there is no column {', '.join(missing)}; {needed}"
        raise CourseError(f"{path}, line {first}: {told}")
    for number, line in rest:
        if any(cell.strip() for cell in line[len(header) :]):
            counts = f"{len(line)} cells, but the header has {len(header)}"
            told = f"there are {counts}; put a cell with commas in quotes"
            raise CourseError(f"{path}, line {number}: {told}")
    return [(number, by_column(names, map(plain, line))) for number, line in rest]


def write_table(path: Path, columns: Iterable[str], lines: Iterable[dict[str, str]]) -> None:
    """Write our own CSV from cells by column. Raises OSError."""
    cells = [[line.get(column, "") for column in columns] for line in lines]
    write_file(path, in_csv(columns, cells).encode("utf-8", "replace"))


def by_column(names: list[str], line: Iterable[str]) -> dict[str, str]:
    """Return a row's cells by column, without spaces around them; missing ones are empty."""
    return dict.fromkeys(names, "") | dict(zip(names, map(str.strip, line), strict=False))


def in_csv(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a CSV of our own cells, in which no spreadsheet finds a formula."""
    return as_csv(header, ([harmless(cell) for cell in row] for row in rows))


def as_csv(header: Iterable[str], rows: Iterable[Iterable[object]], separator: str = ",") -> str:
    """Return a CSV of unchanged cells, because a course system must get its own cells back."""
    text = io.StringIO()
    # The default line ends are needed: otherwise a lone \r is not quoted, and ends a line.
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


# What a spreadsheet treats as a formula: no numbers, and no "-" alone.
FORMULA = re.compile(r"(?![+-]?\d*[.,]?\d*\Z)[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20].*", re.DOTALL)


def harmless(cell: object) -> object:
    """Return a cell that a spreadsheet shows as text instead of a formula.

    >>> [harmless(cell) for cell in ("=1+1", "ada", -1.5, "-1.5", "-")]
    ["'=1+1", 'ada', -1.5, '-1.5', '-']
    """
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def plain(cell: str) -> str:
    """Return a cell without the mark that `harmless` adds."""
    return cell[1:] if cell[:1] == "'" and FORMULA.match(cell, 1) else cell
