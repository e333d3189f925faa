"""A learner's Python text, and where each of its lines stands in what was handed in."""

from bisect import bisect_right
from dataclasses import dataclass


class Unreadable(Exception):
    """The file is not there or is no text; the message says so to the learner."""


@dataclass(frozen=True)
class Source:
    """A learner's Python text, and what its lines are called where the learner wrote them.

    filename: the file that it stands in. starts, names: of a notebook, the line before each
    cell's first one, and the cells' names.
    """

    text: str
    filename: str
    starts: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def place(self, line: int) -> str:
        """A line of the text as the learner knows it.

        >>> Source("x = 1", "a.py").place(1), Source("…", "a.ipynb", (1,), ("`f`",)).place(3)
        ('line 1', 'cell `f`, line 2')
        """
        at = bisect_right(self.starts, line - 1) - 1
        number = f"line {self.line_in_place(line)}"
        return number if at < 0 else f"cell {self.names[at]}, {number}"

    def line_in_place(self, line: int) -> int:
        """A line's number where the learner wrote it: in a notebook that within its cell."""
        at = bisect_right(self.starts, line - 1) - 1
        return line if at < 0 else line - self.starts[at]


def decode(content: bytes, name: str) -> str:
    """Bytes of a file as text. Raises Unreadable where they are not UTF-8."""
    try:
        return with_plain_ends(content.decode("utf-8-sig").replace("\0", ""))
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{name} is not UTF-8 text (byte {error.start}); save it as UTF-8 and try again."
        ) from None


def with_plain_ends(text: str) -> str:
    """Text with `\\n` wherever Python sees the end of a line, so that all count lines alike."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
