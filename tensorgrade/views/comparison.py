"""Show the expected and the actual value side by side, for public cases only.

On a terminal they are blocks with a legend, shaded in colour. For screen readers they are
sentences.
"""

import re
from dataclasses import dataclass

import torch
from rich.style import Style
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import PublicDiagnosis

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
DARKEST = len(ABOVE) - 1
MOST, LEAST = 8, 2  # columns of a block; MOST also limits the rows
GAP = 4  # columns between two blocks
MOST_DIGITS = 7  # behind the point; float32 has no more
MOST_TOLD = 4  # differences in sentences
DIFFERS = "≠ differs"
LEGEND = f"{DIFFERS}; blue is above 0, orange below; a stronger colour is a larger value"


@dataclass(frozen=True)
class Cell:
    """An entry of a matrix. shade: its size from 0 to 4. is_below: it is below 0."""

    word: str
    shade: int
    is_below: bool
    differs: bool


@dataclass(frozen=True)
class Block:
    """The shown part of a matrix."""

    title: str
    rows: list[list[Cell]]


@dataclass(frozen=True)
class Pair:
    """The same part of two tensors. index: the part as Python writes it; "" if it is all."""

    expected: Block
    actual: Block
    index: str


def part_to_show(differs: torch.Tensor, columns: int = MOST) -> tuple[tuple, str]:
    """Return the part around the first difference, as an index of `as_matrices` and in words.

    The words are "" if the part is all. columns: the most to show; there are MOST rows at most.
    """
    matrices = as_matrices(differs)
    places = matrices.nonzero()
    *lead, row, column = places[0].tolist() if len(places) else [0] * matrices.ndim
    tall, wide = matrices.shape[-2:]
    part = (*lead, around(row, tall, MOST), around(column, wide, columns))
    words = [str(one) for one in lead] + [f"{one.start}:{one.stop}" for one in part[-2:]]
    words = words[1:] if differs.ndim < 2 else words
    whole = matrices[part].numel() == differs.numel()
    return part, "" if whole else f"[{', '.join(words)}]"


def around(place: int, size: int, most: int) -> slice:
    """Return a slice of at most `most` rows (or columns) with a place; the first if possible.

    >>> around(3, 20, 8), around(17, 20, 8)
    (slice(0, 8, None), slice(12, 20, None))
    """
    first = 0 if place < most else min(place, size - most)
    return slice(first, min(first + most, size))


def as_matrices(tensor: torch.Tensor) -> torch.Tensor:
    """Return a vector as one row and a number as one cell; return larger tensors unchanged."""
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor


def digits_for(expected: torch.Tensor, actual: torch.Tensor, least: int = 3) -> int:
    """Return the decimals that show each difference of two vectors.

    least: the fewest to show.
    """
    pairs = list(zip(expected.tolist(), actual.tolist(), strict=True))
    enough = (
        digits
        for digits in range(least, MOST_DIGITS)
        if all(number(a, digits) != number(b, digits) for a, b in pairs)
    )
    return next(enough, MOST_DIGITS)


def shade(value: float, largest: float) -> int:
    """Return the shade of a value, from 0 to 4: its size relative to the largest value.

    NaN and infinities get the darkest shade.

    >>> shade(0.0, 1.0), shade(0.3, 1.0), shade(-1.0, 1.0)
    (0, 2, 4)
    """
    if value != value or abs(value) == float("inf"):
        return DARKEST
    share = abs(value) / largest if largest else 0.0
    return min(DARKEST, int(share * DARKEST + 0.999))


def number(value: bool | int | float, digits: int = 3) -> str:
    """Format a number with this many digits, or fewer if it is large.

    >>> number(0.23456), number(-1.5), number(float("-inf")), number(True), number(1234.5)
    ('.235', '-1.50', '-inf', 'T', '1e+03')
    >>> number(0.23456, 4), number(1234.5, 6)
    ('.2346', '1.234e+03')
    """
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int):
        return str(value)
    if value != value or abs(value) == float("inf"):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:.{max(0, digits - 3)}e}"
    if abs(value) < 1 - 0.5 * 10**-digits:
        return f"{value:.{digits}f}".replace("0.", ".", 1)
    return f"{value:.{digits - 1 if abs(value) < 10 else max(0, digits - 2)}f}"


def comparison(diagnosis: PublicDiagnosis, width: int, colour: bool) -> list[Text]:
    """Return both shapes if they differ; otherwise both blocks with the differences marked."""
    if diagnosis.texts:
        return two_lines(*diagnosis.texts)
    pair, lines = pair_of(diagnosis), []
    if pair is None:
        return [Text(f"{name:<9} {text}") for name, text in labelled(diagnosis)]
    for columns in range(MOST, LEAST - 1, -1):  # as many as fit side by side
        pair = pair_of(diagnosis, columns) or pair
        lines = beside(drawn(pair.expected, colour), drawn(pair.actual, colour))
        if max(map(len, lines)) <= width:
            break
    legend = LEGEND if colour else DIFFERS
    return [*lines, Text(f"{pair.index} of each; {legend}" if pair.index else legend, "dim")]


def pair_of(diagnosis: PublicDiagnosis, columns: int = MOST) -> Pair | None:
    """Return the part of both tensors with the first difference; None if their shapes differ.

    columns: the most of them to show.
    """
    expected, actual = diagnosis.expected, diagnosis.actual
    if expected is None or actual is None or expected.shape != actual.shape or not actual.numel():
        return None
    differs = differences(diagnosis)
    part, index = part_to_show(differs, columns)
    want, got, marked = (as_matrices(one)[part] for one in (expected, actual, differs))
    digits = digits_for(want[marked], got[marked])
    values = torch.cat([want.double().flatten(), got.double().flatten()]).abs()
    largest = max(values[values.isfinite()].tolist(), default=0.0)
    shapes = shapes_of(expected, actual)
    left = cells(want, torch.zeros_like(marked), digits, largest)
    right = cells(got, marked, digits, largest)
    return Pair(Block(f"expected {shapes[0]}", left), Block(f"yours {shapes[1]}", right), index)


def cells(
    matrix: torch.Tensor, marked: torch.Tensor, digits: int, largest: float
) -> list[list[Cell]]:
    """Return the cells of a matrix. marked: the entries that differ."""
    return [
        [
            Cell(number(value, digits), shade(float(value), largest), value < 0, hit)
            for value, hit in zip(*row, strict=True)
        ]
        for row in zip(matrix.tolist(), marked.tolist(), strict=True)
    ]


def drawn(block: Block, colour: bool) -> list[Text]:
    """Return the lines of a block for a terminal, below its title."""
    width = max(len(cell.word) for row in block.rows for cell in row)
    rows = (Text("").join(drawn_cell(cell, width, colour) for cell in row) for row in block.rows)
    return [Text(block.title), *rows]


def drawn_cell(cell: Cell, width: int, colour: bool) -> Text:
    """Return a cell with its number, and with `≠` if it differs; shaded in colour."""
    word = f" {cell.word.rjust(width)}{'≠' if cell.differs else ' '}"
    background, ink = (BELOW if cell.is_below else ABOVE)[cell.shade]
    return Text(word, Style(color=ink, bgcolor=background, bold=cell.differs) if colour else "")


def beside(left: list[Text], right: list[Text]) -> list[Text]:
    """Put the lines of two blocks side by side."""
    wide = max(map(len, left)) + GAP
    pairs = zip(left, right, strict=True)
    return [one + Text(" " * (wide - len(one))) + other for one, other in pairs]


def labelled(diagnosis: PublicDiagnosis) -> list[tuple[str, str]]:
    """Return the differing texts or shapes with their labels; nothing if only values differ."""
    if diagnosis.texts:
        both = diagnosis.texts
    elif diagnosis.expected is None or pair_of(diagnosis, 1):
        return []
    else:
        both = shapes_of(diagnosis.expected, diagnosis.actual)
    return list(zip(("expected", "yours"), both, strict=True))


def differences(diagnosis: PublicDiagnosis) -> torch.Tensor:
    """Return a mask of the entries that differ, of two tensors with the same shape."""
    expected, actual = diagnosis.expected, diagnosis.actual
    assert expected is not None and actual is not None
    return torch.ne(expected, actual) if diagnosis.differs is None else diagnosis.differs


def in_sentences(diagnosis: PublicDiagnosis) -> list[str]:
    """Return the comparison as sentences: both shapes, or the first entries that differ."""
    if both := labelled(diagnosis):
        return [f"{name.capitalize()}: {text}" for name, text in both]
    expected, actual = diagnosis.expected, diagnosis.actual
    if expected is None or actual is None:
        return []
    places = differences(diagnosis).nonzero().tolist()
    told = [told_at(place, expected, actual) for place in map(tuple, places[:MOST_TOLD])]
    if expected.dtype != actual.dtype:
        told.insert(0, "Expected: {}. Yours: {}.".format(*shapes_of(expected, actual)))
    left = len(places) - MOST_TOLD
    return [*told, f"{left} more of {expected.numel()} entries differ."] if left > 0 else told


def told_at(place: tuple[int, ...], expected: torch.Tensor, actual: torch.Tensor) -> str:
    """Return a sentence on one entry that differs.

    >>> told_at((), torch.tensor(-0.25), torch.tensor(0.5))
    'Expected -0.250, yours 0.500.'
    >>> told_at((1,), torch.tensor([True, True]), torch.tensor([True, False]))
    'At [1]: expected True, yours False.'
    """
    both = [tensor[place].reshape(1) for tensor in (expected, actual)]
    digits, values = digits_for(both[0], both[1]), []
    for value in [one.item() for one in both]:
        text = str(value) if isinstance(value, bool) else number(value, digits)
        values.append(re.sub(r"^(-?)\.", r"\g<1>0.", text))  # only cells leave out the 0
    where = f"At [{', '.join(map(str, place))}]: expected" if place else "Expected"
    return f"{where} {values[0]}, yours {values[1]}."


def two_lines(expected: str, actual: str) -> list[Text]:
    """Return two texts on two lines, with a mark below the first character that differs.

    >>> [line.plain for line in two_lines("[1, 2]", "[1, 3]")][1:]
    ['yours     [1, 3]', '              ^']
    >>> two_lines("[1", "[1, 2]")[2].plain
    '            ^'
    """
    alike = (a == b for a, b in zip(expected, actual, strict=False))
    first = next((n for n, same in enumerate(alike) if not same), min(len(expected), len(actual)))
    mark = " " * (len("expected  ") + first) + "^"
    return [Text(f"expected  {expected}"), Text(f"yours     {actual}"), Text(mark)]


def shapes_of(expected: torch.Tensor, actual: torch.Tensor | None) -> tuple[str, str]:
    """Return both shapes, with the dtypes unless both are float32."""
    both = [one.dtype for one in (expected, actual) if isinstance(one, torch.Tensor)]
    dtypes = any(dtype != torch.float32 for dtype in both)
    return shape_of(expected, dtypes), shape_of(actual, dtypes)


def shape_of(tensor: torch.Tensor | None, dtype: bool) -> str:
    """Return a tensor's shape, and its type if asked for, such as `(6, 6), float32`."""
    if not isinstance(tensor, torch.Tensor):
        return "no tensor"
    name = f", {str(tensor.dtype).removeprefix('torch.')}" if dtype else ""
    return spoken_shape(tensor.shape) + name
