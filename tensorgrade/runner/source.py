"""A learner's Python text, and where each of its lines stands in what was handed in."""

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass

# What Python's parser ends in, of whatever text it is given.
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Unreadable(Exception):
    """The file is not there or is no text; the message says so to the learner."""


@dataclass(frozen=True)
class Source:
    """A learner's Python text, and what its lines are called where the learner wrote them.

    filename: the file that it is in. starts, names: of a notebook, the line before each
    cell's first one, and the cells' names. notes: pairs of an exercise and a sentence that says
    which of its definitions counts.
    """

    text: str
    filename: str
    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()

    def place(self, line: int) -> str:
        """Return a line of the text as the learner knows it.

        >>> Source("x = 1", "a.py").place(1), Source("…", "a.ipynb", (1,), ("`f`",)).place(3)
        ('line 1', 'cell `f`, line 2')
        """
        cell, number = self.cell(line), f"line {self.line_in_place(line)}"
        return number if cell is None else f"cell {self.names[cell]}, {number}"

    def line_in_place(self, line: int) -> int:
        """Return a line's number where the learner wrote it: in a notebook, within its cell."""
        cell = self.cell(line)
        return line if cell is None else line - self.starts[cell]

    def cell(self, line: int) -> int | None:
        """Return which cell of a notebook a line is in; None if it is in none."""
        at = bisect_right(self.starts, line - 1) - 1
        return None if at < 0 else at


# A line that says how a file is written, as Python reads it, in one of its first two lines.
CODING = re.compile(rb"\A(?:[ \t\f]*(?:#.*)?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# Others than these cost time, or are no way to write a program.
KNOWN = {"iso8859-1", "iso8859-15", "cp1252", "mac-roman", "utf-16", "utf-16-le", "utf-16-be"}
NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")


def decode(content: bytes, name: str) -> str:
    """Bytes of a file as text: UTF-8, UTF-16, what its coding line says, or Latin-1.

    Raises Unreadable where they are no text.
    """
    try:
        return with_plain_ends(content.decode(encoding_of(content)).replace("\0", ""))
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"the file {name} is not UTF-8 text (byte {error.start}); save it as UTF-8 and try "
            "again."
        ) from None


def encoding_of(content: bytes) -> str:
    """How bytes are written. UTF-8 where they are no text at all, which then says so."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    try:
        content.decode()
        return "utf-8-sig"
    except UnicodeDecodeError:
        if NO_TEXT.search(content):
            return "utf-8-sig"
    told = CODING.match(content.replace(b"\r\n", b"\n")[:1000])
    try:
        said = codecs.lookup(told[1].decode()).name if told else ""
    except LookupError:
        said = ""
    return said if said in KNOWN else "cp1252" if not set(content) & UNUSED else "iso8859-1"


UNUSED = {0x81, 0x8D, 0x8F, 0x90, 0x9D}  # what cp1252, Windows' own Latin-1, leaves out


def with_plain_ends(text: str) -> str:
    """Text with `\\n` wherever Python sees the end of a line, so that all count lines alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
