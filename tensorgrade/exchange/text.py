"""Text that somebody else wrote, made fit to be shown."""

LONGEST_TEXT = 500
LONGEST_MESSAGE = 380


def printable(text: str, most: int = LONGEST_TEXT) -> str:
    """Text without control characters, and of at most so many of the others.

    >>> printable("red \\x1b[31malert")
    'red ?[31malert'
    """
    if len(text) <= most and text.isprintable():
        return text
    cut = text if len(text) <= most else text[:most] + "…"
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in cut)


def short(text: str, most: int = LONGEST_MESSAGE) -> str:
    """A text of at most so many characters, cut after a word.

    >>> short("not the right values", 10)
    'not the …'
    """
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    words, space, _ = cut.rpartition(" ")
    return (words + space if len(words) > most // 2 else cut) + "…"
