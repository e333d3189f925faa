"""Text that somebody else wrote, made fit to be shown."""

LONGEST_TEXT = 500


def printable(text: str) -> str:
    """Text without control characters, and not endless.

    >>> printable("red \\x1b[31malert")
    'red ?[31malert'
    """
    cut = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in cut)
