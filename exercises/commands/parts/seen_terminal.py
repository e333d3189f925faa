"""Where each head looks, in a terminal: half blocks in colours, or shades without colours."""

import torch
from rich.color import Color
from rich.console import Console
from rich.padding import Padding
from rich.style import Style
from rich.table import Table
from rich.text import Text

from .seen import Seen, visible

SHADES = " ·░▒▓█"  # of equal steps; the first means nothing
DARK, BRIGHT = (24, 26, 40), (255, 214, 92)
SAID = (
    "Each row is a character. It shows how the character distributes its attention over itself and "
    "the characters before it: the brighter, the more."
)


def print_seen(console: Console, seen: Seen, every: bool) -> None:
    """Print heads side by side if they fit. every: also print heads without a known behaviour."""
    colours = console.color_system is not None and not console.no_color
    console.print(SAID.replace("brighter", "brighter" if colours else "darker"))
    for note in seen.notes:
        console.print(note, markup=False)
    heads = [head for head in seen.heads if every or not seen.does or head in seen.does]
    for head in heads:
        print_words(console, seen, head)
    width = max(len(seen.characters) + 4, 16)
    columns = max(1, console.width // (width + 1))
    for start in range(0, len(heads), columns):
        grid = Table.grid(padding=(1, 1, 0, 0))
        grid.add_row(*(picture(seen, head, colours) for head in heads[start : start + columns]))
        console.print(grid)


def print_words(console: Console, seen: Seen, head: tuple[int, int]) -> None:
    """Print what a head with a known behaviour does here."""
    if caption := seen.caption(head):
        console.print(Text.assemble("\n", (seen.title(head), "bold"), f" {caption}."))
    if example := seen.example(head):
        console.print(Padding(Text(f"{example}."), (0, 0, 0, 2), expand=False))


def picture(seen: Seen, head: tuple[int, int], colours: bool) -> Text:
    """Return one head: its title, the text at the top, and the matrix with the text on the left."""
    matrix, marks = seen.weights[head], [visible(c) for c in seen.characters]
    body = in_half_blocks(matrix, marks) if colours else in_shades(matrix, marks)
    return Text.assemble((seen.title(head), "bold"), "\n   ", "".join(marks), "\n", body)


def in_half_blocks(matrix: torch.Tensor, marks: list[str]) -> Text:
    """Return two rows of the matrix per line, as the upper half of a block and its background."""
    text = Text(no_wrap=True)
    for row in range(0, len(matrix), 2):
        text.append("".join(marks[row : row + 2]).ljust(3))
        below = matrix[row + 1] if row + 1 < len(matrix) else torch.zeros(len(matrix))
        for upper, lower in zip(matrix[row].tolist(), below.tolist(), strict=True):
            text.append("▀", Style(color=shade(upper), bgcolor=shade(lower)))
        text.append("\n")
    return text


def shade(weight: float) -> Color:
    """Return a colour from dark to bright, so that the lightness alone shows the weight."""
    red, green, blue = (round(a + (b - a) * weight) for a, b in zip(DARK, BRIGHT, strict=True))
    return Color.from_rgb(red, green, blue)


def in_shades(matrix: torch.Tensor, marks: list[str]) -> Text:
    """Return a row per line, in signs that grow darker."""
    rows = [
        mark.ljust(3) + "".join(sign(weight) for weight in row[: at + 1])
        for at, (mark, row) in enumerate(zip(marks, matrix.tolist(), strict=True))
    ]
    return Text("\n".join(rows), no_wrap=True)


def sign(weight: float) -> str:
    """Return the sign for a weight from 0 to 1: `·` from 0.05 on, `█` from 0.8 on.

    >>> sign(0.0), sign(0.1), sign(0.5), sign(1.0)
    (' ', '·', '▒', '█')
    """
    return SHADES[0] if weight < 0.05 else SHADES[min(5, 1 + int(weight * 5))]
