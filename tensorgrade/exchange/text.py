"""Text from untrusted sources, sanitized for display."""

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
