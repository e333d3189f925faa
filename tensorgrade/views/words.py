"""Small helpers for sentences, and the statuses of exercises in words."""

import math
import re
from pathlib import Path

from markupsafe import Markup, escape

from ..runner.syntax import bound_by, definitions, first_line

# By status of a row: a mark that needs no colour, and words.
STATES = {
    "passed": ("✓", "right"),
    "partial": ("◐", "partly right"),
    "failed": ("✗", "wrong"),
    "not_attempted": ("○", "not begun"),
    "error": ("⚠", "raises an error"),
    "timeout": ("∞", "timed out"),
    "killed": ("⊘", "was killed"),
}


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 guard` or `2 guards`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_tenths(points: float) -> str:
    """Format points in tenths, rounded down so that no learner sees more than was earned.

    >>> in_tenths(17.55), in_tenths(19.99), in_tenths(0.3), in_tenths(20.0)
    ('17.5', '19.9', '0.3', '20')
    """
    return f"{math.floor(10 * points + 1e-6) / 10:g}"


def path_here(path: Path) -> str:
    """Return a file's path as a terminal can open it: relative to the current folder if inside."""
    path = path.absolute()
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def with_code(text: str) -> Markup:
    """Convert a sentence to safe HTML, with the text between backticks as code.

    >>> with_code("`a<b` is 1 ` more")
    Markup('<code>a&lt;b</code> is 1 ` more')
    """
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))


def definition_in(text: str, name: str) -> str:
    """Return the text of the last definition of a name; "" if there is none.

    In a text that is not valid Python, a definition ends before the next line that is not indented.

    >>> definition_in("x = 1\\ndef f():\\n    return 2\\n", "f")
    'def f():\\n    return 2'
    >>> definition_in("def f():\\n    return (2\\n\\ndef g(): 1", "f")
    'def f():\\n    return (2'
    """
    if node := definitions(bound_by(text)).get(name):
        return "\n".join(text.split("\n")[first_line(node) - 1 : node.end_lineno])
    start = rf"^(?:@.*\n)*(?:async def|def|class) {re.escape(name)}\b.*"
    found = re.findall(rf"{start}(?:\n(?:[ \t)\]}}].*|))*", text, re.M)
    return found[-1].rstrip() if found else ""
