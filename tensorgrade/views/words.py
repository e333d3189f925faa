"""Small helpers for sentences."""


def plural(count: int, noun: str) -> str:
    """`1 guard`, `2 guards`.

    >>> plural(1, "guard"), plural(0, "guard")
    ('1 guard', '0 guards')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
