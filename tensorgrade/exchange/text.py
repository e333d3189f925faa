"""Text for people: what comes from untrusted sources made printable, clauses and sentences joined.

A message is a plain string. A clause begins with a small letter and has no full stop, so that it
can be joined to others; `sentence` makes a sentence of it.
"""

import re
from collections.abc import Iterable

LONGEST_TEXT = 500
LONGEST_MESSAGE = 380
# Invisible characters that join or separate letters or emoji in some scripts.
JOINERS = "\u200c\u200d"
SHOWN = "\n\t" + JOINERS  # characters that Python does not call printable


def printable(text: str, most: int = LONGEST_TEXT) -> str:
    """Return text sanitized for a terminal and a page, with at most this many characters.

    Control characters (also those of ISO 6429) and characters that reverse or hide text become `?`.

    >>> printable("red \\x1b[31malert"), printable("abc\\u202ecba")
    ('red ?[31malert', 'abc?cba')
    """
    if len(text) <= most and text.isprintable():
        return text
    cut = rest = text if len(text) <= most else text[:most] + "…"
    for character in SHOWN:  # faster than a loop over the characters of a whole file
        rest = rest.replace(character, "")
    if rest.isprintable():
        return cut
    return "".join(c if c.isprintable() or c in SHOWN else "?" for c in cut)


def short(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return a text of at most this many characters, cut after a word.

    >>> short("not the right values", 10)
    'not the …'
    """
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    words, space, _ = cut.rpartition(" ")
    return (words + space if len(words) > most // 2 else cut) + "…"


def whole(text: str, most: int = LONGEST_MESSAGE) -> str:
    """Return the first sentences of a text that together have at most this many characters.

    The first sentence is never cut.

    >>> whole("It is wrong. Is there a loop? Look at `a.b`.", 30)
    'It is wrong. Is there a loop?'
    """
    ends = [found.start() for found in BETWEEN.finditer(text)] + [len(text)]
    return text[: max((end for end in ends if end <= most), default=ends[0])]


BETWEEN = re.compile(r"(?<=[.?!…”]) (?=[^a-z])")
FILE = re.compile(r"\S+\.(py|ipynb)\b")


def sentence(text: str) -> str:
    """Return a clause as a sentence, with a capital letter and a full stop.

    The name of a file keeps its small letter.

    >>> sentence("it is wrong"), sentence("ch1.py is empty"), sentence("")
    ('It is wrong.', 'ch1.py is empty.', '')
    """
    text = " ".join(text.split())
    if not FILE.match(text):
        text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "?", "!", "…")) else text + "."


def sentences(*clauses: str) -> str:
    """Return each clause as a sentence of its own. Empty ones are skipped."""
    return " ".join(filter(None, map(sentence, clauses)))


def joined(*clauses: str, between: str = "; ") -> str:
    """Return clauses in one sentence. Empty ones are skipped."""
    return between.join(filter(None, clauses))


def listed(parts: Iterable[object]) -> str:
    """Return words with commas, and `and` before the last.

    >>> listed([0]), listed([0, 2]), listed([0, 1, 2])
    ('0', '0 and 2', '0, 1 and 2')
    """
    words = [str(part) for part in parts]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def code(names: Iterable[str]) -> str:
    """Return names as code, with commas, and `and` before the last."""
    return listed(f"`{name}`" for name in names)
