"""A curve for a terminal, drawn with the dots of braille characters."""

from collections.abc import Sequence

# The eight dots of a braille character as bits: rows from the top, left and right column.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BLANK = 0x2800


def curve(values: Sequence[float], width: int, height: int, whole: int) -> list[str]:
    """Return `height` lines of text, `width` characters wide, with the top and bottom value.

    whole: how many values there will be; the curve starts on the left and grows to the right.
    """
    top, low = max(values), min(values)
    span = (top - low) or 1.0
    cells = [[BLANK] * width for _ in range(height)]
    for column in range(2 * width):
        part = values[column * whole // (2 * width) : (column + 1) * whole // (2 * width)]
        if part:
            down = round((top - sum(part) / len(part)) / span * (4 * height - 1))
            cells[down // 4][column // 2] |= DOTS[down % 4][column % 2]
    marks = [f"{top:.2f}", *[""] * (height - 2), f"{low:.2f}"]
    return [f"{mark:>5} ┤{''.join(map(chr, row))}" for mark, row in zip(marks, cells, strict=True)]
