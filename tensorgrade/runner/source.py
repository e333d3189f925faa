"""A learner's Python text, and the place of each of its lines in the submission."""

import ast
import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

# Errors that Python's parser can raise on any text.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Unreadable(Exception):
    """The file is missing or is not text; the message tells the learner so."""


@dataclass(frozen=True)
class Source:
    """A learner's Python text, and the places where the learner wrote its lines.

    filename: its file. starts, names: for a notebook, the line before each cell's first line, and
    the cells' names. notes: pairs of an exercise and a sentence that names the definition that
    counts.
    """

    text: str
    filename: str
    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    def place(self, line: int) -> str:
        """Return the place of a line as the learner knows it.

        >>> Source("x = 1", "a.py").place(1), Source("…", "a.ipynb", (1,), ("`f`",)).place(3)
        ('line 1', 'cell `f`, line 2')
        """
        cell, number = self.cell(line), f"line {self.line_in_cell(line)}"
        return number if cell is None else f"cell {self.names[cell]}, {number}"

    def line_in_cell(self, line: int) -> int:
        """Return a line's number where the learner wrote it: in a notebook, within its cell."""
        cell = self.cell(line)
        return line if cell is None else line - self.starts[cell]

    def cell(self, line: int) -> int | None:
        """Return the index of the notebook cell that contains a line; None if there is none."""
        at = bisect_right(self.starts, line - 1) - 1
        return None if at < 0 else at


class Text:
    """A text, with functions that replace parts of its syntax tree."""

    def __init__(self, text: str):
        self.text = text
        self.lines = text.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        """Return the index in the text of a syntax tree's line and column, which counts bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the start and the end of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None, "it was parsed"
        begin = self.offset(node.lineno, node.col_offset)
        return begin, self.offset(node.end_lineno, node.end_col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node."""
        begin, end = self.span(node)
        return self.text[begin:end]

    def put(
        self, places: Iterable[tuple[int, int, str]], begin: int = 0, end: int | None = None
    ) -> str:
        """Return the text, or the part of it between two indices, with other text at some places.

        places: the start and end of each replaced piece, and its new text.
        """
        pieces, at = [], begin
        for start, stop, new in sorted(places):
            pieces += [self.text[at:start], new]
            at = stop
        return "".join([*pieces, self.text[at:end]])


# Bytes of no text in cp1252: control characters, and those without a meaning there.
NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")


def decode(content: bytes, name: str) -> str:
    """Decode the bytes of a file: as UTF-8, UTF-16 with its mark, or cp1252, Windows' own Latin-1.

    Raises Unreadable if they are not text.
    """
    try:
        return with_plain_ends(content.decode(encoding_of(content)).replace("\0", ""))
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"the file {name} is not UTF-8 text (byte {error.start}); save it as UTF-8 and try "
            "again."
        ) from None


def encoding_of(content: bytes) -> str:
    """Return the encoding of bytes; UTF-8 if they are not text, so that decoding reports that."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        content.decode()
        return "utf-8-sig"
    except UnicodeDecodeError:
        return "utf-8-sig" if NO_TEXT.search(content) else "cp1252"


def with_plain_ends(text: str) -> str:
    """Return text with `\\n` at the end of each line, so that all tools count lines alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
