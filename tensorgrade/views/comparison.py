"""Draw the expected and the actual value side by side as shaded blocks, for public cases only."""

from dataclasses import dataclass

import torch
from rich.style import Style
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import PublicDiagnosis
from ..messages.places import dimension_name

SHADES = " ░▒▓█"
# Backgrounds from small to large values, each with a readable text colour.
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
    """The part of a tensor that is shown: one of its matrices, and a range of rows and columns."""

    lead: tuple[int, ...]
    first_row: int
    first_column: int

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the shown part as a matrix of at most MOST rows and MOST columns."""
        matrix = as_matrices(tensor)[self.lead]
        return matrix[
            self.first_row : self.first_row + MOST, self.first_column : self.first_column + MOST
        ]


def window(differs: torch.Tensor) -> Window:
    """Return the window around the first difference, in the first matrix that has one."""
    matrices = as_matrices(differs)
    places = matrices.nonzero()
    first = places[0].tolist() if len(places) else [0] * matrices.ndim
    *lead, row, column = first
    rows, columns = matrices.shape[-2:]
    return Window(tuple(lead), start(row, rows), start(column, columns))


def start(place: int, size: int) -> int:
    """Return the first of the MOST rows (or columns) that show a place: 0 if it is before MOST."""
    return 0 if place < MOST else min(place, size - MOST)


def as_matrices(tensor: torch.Tensor) -> torch.Tensor:
    """Return a vector as one row and a number as one cell; return larger tensors unchanged."""
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor


def widest(matrix: torch.Tensor) -> int:
    """Return the number of characters of the longest number in a matrix."""
    return max((len(number(value)) for value in matrix.flatten().tolist()), default=1)


def block(
    matrix: torch.Tensor, marked: torch.Tensor, largest: float, width: int, colour: bool
) -> list[Text]:
    """Return the lines of a matrix's block. marked: a mask of the cells that get a mark."""
    words = [[number(value) for value in row] for row in matrix.tolist()]
    return [
        Text("").join(
            cell(word.rjust(width), value, bool(hit), largest, colour)
            for word, value, hit in zip(texts, values, hits, strict=True)
        )
        for texts, values, hits in zip(words, matrix.tolist(), marked.tolist(), strict=True)
    ]


def cell(word: str, value: float, marked: bool, largest: float, colour: bool) -> Text:
    """Return a shaded cell with its number, and with `≠` if it is marked."""
    level = shade(float(value), largest)
    mark = "≠" if marked else " "
    if not colour:
        return Text(SHADES[level] + word + mark)
    background, ink = (BELOW if value < 0 else ABOVE)[level]
    return Text(f" {word}{mark}", Style(color=ink, bgcolor=background, bold=marked))


def shade(value: float, largest: float) -> int:
    """Return the shade of a value, from 0 to 4: its size relative to the largest value.

    NaN and infinities get the darkest shade.

    >>> shade(0.0, 1.0), shade(0.3, 1.0), shade(-1.0, 1.0)
    (0, 2, 4)
    """
    if value != value or abs(value) == float("inf"):
        return len(SHADES) - 1
    share = abs(value) / largest if largest else 0.0
    return min(len(SHADES) - 1, int(share * (len(SHADES) - 1) + 0.999))


def number(value: bool | int | float) -> str:
    """Format a number in at most six characters.

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
    """Return the largest absolute value among the finite ones; 0 if there are none."""
    values = torch.cat([matrix.double().flatten() for matrix in matrices]).abs()
    finite = values[values.isfinite()]
    return float(finite.max()) if len(finite) else 0.0


GAP = 4


def comparison(diagnosis: PublicDiagnosis, width: int, colour: bool) -> list[Text]:
    """Return both shapes if they differ; otherwise both blocks with the differences marked."""
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
    """Return two texts on two lines, with a mark below the first character that differs.

    >>> [line.plain for line in two_lines("[1, 2]", "[1, 3]")][1:]
    ['yours     [1, 3]', '              ^']
    """
    alike = (a == b for a, b in zip(expected, actual, strict=False))
    first = next((n for n, same in enumerate(alike) if not same), min(len(expected), len(actual)))
    mark = " " * (len("expected  ") + first) + "^"
    return [Text(f"expected  {expected}"), Text(f"yours     {actual}"), Text(mark)]


def shape_of(tensor: torch.Tensor | None) -> str:
    """Return a tensor's shape and type, such as `(6, 6), float32`."""
    if not isinstance(tensor, torch.Tensor):
        return "no tensor"
    return f"{spoken_shape(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}"


def beside(names: list[str], blocks: list[list[Text]], width: int) -> list[Text]:
    """Put two named blocks side by side if they fit into the width, else one below the other."""
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
    """Say which part of a larger tensor is shown; return nothing if the whole tensor is shown."""
    parts = [f"{dimension_name(dim, differs.ndim)} {index}" for dim, index in enumerate(shown.lead)]
    rows, columns = as_matrices(differs).shape[-2:]
    if rows > MOST:
        parts.append(f"rows {shown.first_row} to {shown.first_row + MOST - 1}")
    if columns > MOST:
        parts.append(f"columns {shown.first_column} to {shown.first_column + MOST - 1}")
    return [Text(f"({', '.join(parts)}; counted from 0)")] if parts else []
