"""What was expected and what came back, side by side as shaded blocks. For public cases only."""

from dataclasses import dataclass

import torch
from rich.style import Style
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import PublicDiagnosis
from ..messages.places import dimension_name

SHADES = " ░▒▓█"
# Backgrounds from small to large, each with a number's colour that stands out on it.
ABOVE = (
    ("grey93", "#000000"),
    ("light_sky_blue1", "#000000"),
    ("sky_blue2", "#000000"),
    ("dodger_blue2", "#ffffff"),
    ("blue3", "#ffffff"),
)
BELOW = (
    ("grey93", "#000000"),
    ("navajo_white1", "#000000"),
    ("sandy_brown", "#000000"),
    ("dark_orange3", "#ffffff"),
    ("red3", "#ffffff"),
)
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
        return matrix[
            self.first_row : self.first_row + MOST, self.first_column : self.first_column + MOST
        ]


def window(differs: torch.Tensor) -> Window:
    """Where to look: the first matrix that holds a difference, and the part around it."""
    matrices = as_matrices(differs)
    places = matrices.nonzero()
    first = places[0].tolist() if len(places) else [0] * matrices.ndim
    *lead, row, column = first
    rows, columns = matrices.shape[-2:]
    return Window(tuple(lead), start(row, rows), start(column, columns))


def start(place: int, size: int) -> int:
    """The first of MOST rows (or columns) that show a place; 0 where it is near the beginning."""
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
            for word, value, hit in zip(texts, values, hits, strict=True)
        )
        for texts, values, hits in zip(words, matrix.tolist(), marked.tolist(), strict=True)
    ]


def cell(word: str, value: float, marked: bool, largest: float, colour: bool) -> Text:
    """Shade, number and mark (`≠` where it differs)."""
    level = shade(float(value), largest)
    mark = "≠" if marked else " "
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


def number(value: bool | int | float) -> str:
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


GAP = 4


def comparison(diagnosis: PublicDiagnosis, width: int, colour: bool) -> list[Text]:
    """First the shapes; then, where these agree, both blocks with the differences marked."""
    if diagnosis.texts:
        return two_lines(*diagnosis.texts)
    expected, actual = diagnosis.expected, diagnosis.actual
    if not isinstance(expected, torch.Tensor):
        return []
    if not isinstance(actual, torch.Tensor) or actual.shape != expected.shape:
        return [Text(f"expected  {shape_of(expected)}"), Text(f"yours     {shape_of(actual)}")]
    differs = diagnosis.differs if diagnosis.differs is not None else expected != actual
    if not differs.numel():
        return []
    shown = window(differs)
    both = [shown.of(tensor) for tensor in (expected, actual)]
    marked, largest = shown.of(differs), largest_of(*both)
    nothing = torch.zeros_like(marked)
    cell = max(map(widest, both))
    blocks = [
        block(m, hits, largest, cell, colour)
        for m, hits in zip(both, (nothing, marked), strict=True)
    ]
    names = [f"expected, {shape_of(expected)}", f"yours, {shape_of(actual)} (≠: differs)"]
    return [*beside(names, blocks, width), *caption(shown, differs)]


def two_lines(expected: str, actual: str) -> list[Text]:
    """Two texts, one below the other, and a mark below the first character that differs.

    >>> [line.plain for line in two_lines("[1, 2]", "[1, 3]")][1:]
    ['yours     [1, 3]', '              ^']
    """
    alike = (a == b for a, b in zip(expected, actual, strict=False))
    first = next((n for n, same in enumerate(alike) if not same), min(len(expected), len(actual)))
    mark = " " * (len("expected  ") + first) + "^"
    return [Text(f"expected  {expected}"), Text(f"yours     {actual}"), Text(mark)]


def shape_of(tensor: torch.Tensor | None) -> str:
    """`(6, 6), float32`."""
    if not isinstance(tensor, torch.Tensor):
        return "no tensor"
    return f"{spoken_shape(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}"


def beside(names: list[str], blocks: list[list[Text]], width: int) -> list[Text]:
    """Two blocks with their names above them, side by side where they fit, else stacked."""
    wide = [
        max(len(name), max(len(line) for line in lines))
        for name, lines in zip(names, blocks, strict=True)
    ]
    columns = [[Text(name), *lines] for name, lines in zip(names, blocks, strict=True)]
    if sum(wide) + GAP > width:
        return [*columns[0], Text(""), *columns[1]]
    return [
        left + Text(" " * (wide[0] - len(left) + GAP)) + right
        for left, right in zip(*columns, strict=True)
    ]


def caption(shown: Window, differs: torch.Tensor) -> list[Text]:
    """Which part of a larger tensor this is; nothing where it is all of it."""
    parts = [f"{dimension_name(dim, differs.ndim)} {index}" for dim, index in enumerate(shown.lead)]
    rows, columns = as_matrices(differs).shape[-2:]
    if rows > MOST:
        parts.append(f"rows {shown.first_row} to {shown.first_row + MOST - 1}")
    if columns > MOST:
        parts.append(f"columns {shown.first_column} to {shown.first_column + MOST - 1}")
    return [Text(f"({', '.join(parts)}; counted from 0)")] if parts else []
