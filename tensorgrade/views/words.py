"""Small helpers for sentences."""

import math
import re
from pathlib import Path

from markupsafe import Markup, escape


def plural(count: int, noun: str) -> str:
    """`1 guard`, `2 guards`.

    >>> plural(1, "guard"), plural(0, "guard")
    ('1 guard', '0 guards')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_tenths(points: float) -> str:
    """Points as a learner reads them; never more than there are.

    >>> in_tenths(17.55), in_tenths(19.99), in_tenths(0.3), in_tenths(20.0)
    ('17.5', '19.9', '0.3', '20')
    """
    return f"{math.floor(10 * points + 1e-6) / 10:g}"


def place_in_file(path: Path, name: str) -> str:
    """`ch1_x.py, line 12`; without the line where the file does not define the name."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return path.name
    found = list(re.finditer(rf"^(?:def|class) {re.escape(name)}\b", text, re.M))
    line = text.count("\n", 0, found[-1].start()) + 1 if found else 0
    return f"{path.name}, line {line}" if line else path.name


def with_code(text: str) -> Markup:
    """A sentence for a page: what stands between backticks as code, and nothing obeyed.

    >>> with_code("`a<b` is 1 ` more")
    Markup('<code>a&lt;b</code> is 1 ` more')
    """
    return Markup(re.sub(r"`([^`\n]+)`", r"<code>\1</code>", str(escape(text))))
