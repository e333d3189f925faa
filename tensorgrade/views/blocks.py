"""A matrix as a block of shaded cells: number, shade and mark, so that nothing rests on colour.

Without colour the shade is one of ` ░▒▓█`; with it, the cell's background, and the number's own
colour is set with it, so that a light and a dark theme show the same.
"""

from dataclasses import dataclass

import torch
from rich.style import Style
from rich.text import Text

SHADES = " ░▒▓█"
# Backgrounds from small to large, each with a number's colour that stands out on it.
ABOVE = (("grey93", "#000000"), ("light_sky_blue1", "#000000"), ("sky_blue2", "#000000"), ("dodger_blue2", "#ffffff"), ("blue3", "#ffffff"))
BELOW = (("grey93", "#000000"), ("navajo_white1", "#000000"), ("sandy_brown", "#000000"), ("dark_orange3", "#ffffff"), ("red3", "#ffffff"))
MOST = 8


@dataclass(frozen=True)
class Window:
    """The part of a tensor that is shown: one matrix of it, and a range of rows and columns."""

    lead: tuple[int, ...]
    first_row: int
    first_column: int

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """The shown part, always two-dimensional, MOST rows and columns at most."""
        matrix = as_matrices(tensor)[self.lead]
        return matrix[self.first_row : self.first_row + MOST, self.first_column : self.first_column + MOST]


def window(differs: torch.Tensor) -> Window:
    """Where to look: the first matrix that holds a difference, and the part around it."""
    matrices = as_matrices(differs)
    places = matrices.nonzero()
    first = places[0].tolist() if len(places) else [0] * matrices.ndim
    *lead, row, column = first
    rows, columns = matrices.shape[-2:]
    return Window(tuple(lead), start(row, rows), start(column, columns))


def start(place: int, size: int) -> int:
    """The first of MOST rows (or columns) that show a place, from the beginning where it is near."""
    return 0 if place < MOST else min(place, size - MOST)


def as_matrices(tensor: torch.Tensor) -> torch.Tensor:
    """A vector as one row, a number as one cell; anything larger as it is."""
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor


def widest(matrix: torch.Tensor) -> int:
    """How many characters the longest number of a matrix takes."""
    return max((len(number(value)) for value in matrix.flatten().tolist()), default=1)


def block(
    matrix: torch.Tensor, marked: torch.Tensor, largest: float, width: int, colour: bool
) -> list[Text]:
    """The lines of a matrix's block. marked: a mask of the cells that carry a mark."""
    words = [[number(value) for value in row] for row in matrix.tolist()]
    return [
        Text("").join(
            cell(word.rjust(width), value, bool(hit), largest, colour)
            for word, value, hit in zip(texts, values, hits)
        )
        for texts, values, hits in zip(words, matrix.tolist(), marked.tolist())
    ]


def cell(word: str, value: float, marked: bool, largest: float, colour: bool) -> Text:
    """Shade, number and mark (`x` where it differs)."""
    level = shade(float(value), largest)
    mark = "x" if marked else " "
    if not colour:
        return Text(SHADES[level] + word + mark)
    background, ink = (BELOW if value < 0 else ABOVE)[level]
    return Text(f" {word}{mark}", Style(color=ink, bgcolor=background, bold=marked))


def shade(value: float, largest: float) -> int:
    """0 to 4: how large a value is beside the largest; NaN and infinities count as largest.

    >>> shade(0.0, 1.0), shade(0.3, 1.0), shade(-1.0, 1.0)
    (0, 2, 4)
    """
    if value != value or abs(value) == float("inf"):
        return len(SHADES) - 1
    share = abs(value) / largest if largest else 0.0
    return min(len(SHADES) - 1, int(share * (len(SHADES) - 1) + 0.999))


def number(value) -> str:
    """A number in at most six characters.

    >>> number(0.23456), number(-1.5), number(float("-inf")), number(True), number(1234.5)
    ('.235', '-1.50', '-inf', 'T', '1e+03')
    """
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int):
        return str(value)
    if value != value or abs(value) == float("inf") or abs(value) >= 1000:
        return f"{value:.0e}" if abs(value) < float("inf") else str(value)
    if abs(value) < 0.9995:
        return f"{value:.3f}".replace("0.", ".", 1)
    return f"{value:.{2 if abs(value) < 10 else 1}f}"


def largest_of(*matrices: torch.Tensor) -> float:
    """The largest absolute value among finite ones; 0 where there is none."""
    values = torch.cat([matrix.double().flatten() for matrix in matrices]).abs()
    finite = values[values.isfinite()]
    return float(finite.max()) if len(finite) else 0.0
