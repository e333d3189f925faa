"""Write tables for spreadsheets and course systems."""

import csv
import io
import re
from collections.abc import Iterable


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


FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
NUMBER = re.compile(r"[+-]?\d*[.,]?\d*")


def is_formula(cell: object) -> bool:
    """Return True if a spreadsheet would treat a cell as a formula; False for "-" and numbers.

    >>> is_formula("=1+1"), is_formula("ada"), is_formula("-1.5"), is_formula("-")
    (True, False, False, False)
    """
    begins = isinstance(cell, str) and FORMULA.match(cell)
    return bool(begins) and NUMBER.fullmatch(str(cell)) is None


def harmless(cell: object) -> object:
    """Return a cell that a spreadsheet shows as text instead of a formula.

    >>> harmless("=1+1"), harmless("ada"), harmless(-1.5)
    ("'=1+1", 'ada', -1.5)
    """
    return f"'{cell}" if is_formula(cell) else cell
