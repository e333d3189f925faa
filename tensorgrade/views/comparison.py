"""Show the expected and the actual value side by side, for public cases only.

On a terminal and a page they are blocks with a legend, shaded in colour. For screen readers they
are sentences.
"""

import io

import torch
from markupsafe import Markup
from rich.console import Console
from rich.style import Style
from rich.text import Text

from ..exchange.cases import spoken_shape
from ..judging.diagnosis import Diagnosis

# Backgrounds from small to large values.
ABOVE = ("grey93", "light_sky_blue1", "sky_blue2", "dodger_blue2", "blue3")
BELOW = ("grey93", "navajo_white1", "sandy_brown", "#af5f00", "red3")
DARKEST, BLACK_UNTIL = len(ABOVE) - 1, 2  # the last shade on which black can be read
MOST, LEAST = 8, 2  # columns of a block; MOST also limits the rows
GAP = 4  # columns between two blocks
LEAST_DIGITS, MOST_DIGITS = 3, 7  # behind the point; float32 has no more
MOST_TOLD = 4  # differences in sentences
DIFFERS = "≠ differs"
LEGEND = f"{DIFFERS}; blue is above 0, orange below; a stronger colour is a larger value"
WIDE = 200  # characters of two blocks on a page, which can be moved sideways
Pair = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # expected, actual, and if they differ


def comparison(diagnosis: Diagnosis, width: int, colour: bool) -> list[Text]:
    """Return both texts or shapes if they differ; otherwise both blocks, as wide as fits."""
    pair = pair_in(diagnosis)
    if pair is None:
        return [Text(f"{name:<9} {text}") for name, text in labelled(diagnosis)]
    for columns in range(MOST, LEAST - 1, -1):
        lines, index = blocks(pair, columns)
        if max(map(len, lines)) <= width:
            break
    legend = LEGEND if colour else DIFFERS
    return [*lines, Text(f"{index} of each; {legend}" if index else legend, "dim")]


def on_page(diagnosis: Diagnosis) -> Markup | None:
    """Return both blocks as HTML; None if there are none."""
    if pair_in(diagnosis) is None:
        return None
    *lines, legend = comparison(diagnosis, WIDE, colour=True)
    console = Console(
        file=io.StringIO(), record=True, width=WIDE, highlight=False, force_jupyter=False
    )
    console.print(*lines, legend.plain, sep="\n", no_wrap=True)
    return Markup(console.export_html(inline_styles=True, code_format="<pre>{code}</pre>"))


def pair_in(diagnosis: Diagnosis) -> Pair | None:
    """Return the expected and the actual tensor if both have the same shape; None otherwise."""
    expected, actual, differs = diagnosis.expected, diagnosis.actual, diagnosis.differs
    if diagnosis.texts or expected is None or actual is None:
        return None
    if expected.shape != actual.shape or not expected.numel():
        return None
    return expected, actual, expected != actual if differs is None else differs


def blocks(pair: Pair, columns: int) -> tuple[list[Text], str]:
    """Return the part of both tensors with the first difference, side by side, and its index.

    The index is as Python writes it; "" if the part is all. columns: the most of them to show.
    """
    part, index = part_to_show(pair[2], columns)
    want, got, marked = (as_matrices(one)[part] for one in pair)
    digits = digits_for(want[marked], got[marked])
    values = torch.cat([want.double().flatten(), got.double().flatten()]).abs()
    largest = max(values[values.isfinite()].tolist(), default=0.0)
    expected, yours = shapes_of(pair[0], pair[1])
    left = block(f"expected {expected}", want, torch.zeros_like(marked), digits, largest)
    right = block(f"yours {yours}", got, marked, digits, largest)
    wide = max(map(len, left)) + GAP
    pairs = zip(left, right, strict=True)
    return [one + Text(" " * (wide - len(one))) + other for one, other in pairs], index


def part_to_show(differs: torch.Tensor, columns: int) -> tuple[tuple, str]:
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
    """Return a slice of at most `most` rows (or columns) with a place; the first if possible."""
    first = 0 if place < most else min(place, size - most)
    return slice(first, min(first + most, size))


def as_matrices(tensor: torch.Tensor) -> torch.Tensor:
    """Return a vector as one row and a number as one cell; return larger tensors unchanged."""
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor


def block(
    title: str, matrix: torch.Tensor, marked: torch.Tensor, digits: int, largest: float
) -> list[Text]:
    """Return a title and the rows of a matrix, with `≠` at marked entries.

    largest: the value with the strongest colour. A console without colours leaves them out.
    """
    values = matrix.tolist()
    words = [[number(value, digits) for value in row] for row in values]
    width = max(len(word) for row in words for word in row)
    lines = [Text(title)]
    for row in zip(values, words, marked.tolist(), strict=True):
        line = Text()
        for value, word, hit in zip(*row, strict=True):
            sign = "≠" if hit else " "
            line.append(f" {word.rjust(width)}{sign}", shaded(value.real, largest, hit))
        lines.append(line)
    return lines


def shaded(value: float, largest: float, bold: bool) -> Style:
    """Return the style of a value. NaN and infinities have the strongest colour."""
    shade = DARKEST
    if value == value and abs(value) != float("inf"):
        shade = min(DARKEST, int(abs(value) / (largest or 1.0) * DARKEST + 0.999))
    ink = "#000000" if shade <= BLACK_UNTIL else "#ffffff"
    return Style(color=ink, bgcolor=(BELOW if value < 0 else ABOVE)[shade], bold=bold)


def digits_for(expected: torch.Tensor, actual: torch.Tensor) -> int:
    """Return the decimals that show each difference of two vectors."""
    pairs = list(zip(expected.tolist(), actual.tolist(), strict=True))
    for digits in range(LEAST_DIGITS, MOST_DIGITS):
        if all(number(a, digits) != number(b, digits) for a, b in pairs):
            return digits
    return MOST_DIGITS


def number(value: bool | int | float, digits: int = 3) -> str:
    """Format a number with this many digits, or fewer if it is large.

    >>> number(0.23456), number(-1.5), number(float("-inf")), number(True), number(1234.5)
    ('.235', '-1.50', '-inf', 'T', '1e+03')
    >>> number(0.23456, 4), number(1234.5, 6)
    ('.2346', '1.234e+03')
    """
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int) or value != value or abs(value) == float("inf"):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:.{max(0, digits - 3)}e}"
    if abs(value) < 1 - 0.5 * 10**-digits:
        return f"{value:.{digits}f}".replace("0.", ".", 1)
    return f"{value:.{digits - 1 if abs(value) < 10 else max(0, digits - 2)}f}"


def labelled(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return the differing texts or shapes with their labels; nothing if only values differ."""
    if diagnosis.texts:
        both = diagnosis.texts
    elif diagnosis.expected is None or pair_in(diagnosis):
        return []
    else:
        both = shapes_of(diagnosis.expected, diagnosis.actual)
    return list(zip(("expected", "yours"), both, strict=True))


def in_sentences(diagnosis: Diagnosis) -> list[str]:
    """Return the comparison as sentences: both shapes, or the first entries that differ."""
    pair = pair_in(diagnosis)
    if pair is None:
        return [f"{name.capitalize()}: {text}" for name, text in labelled(diagnosis)]
    expected, actual, differs = pair
    places = differs.nonzero().tolist()
    told = [told_at(place, expected, actual) for place in map(tuple, places[:MOST_TOLD])]
    if expected.dtype != actual.dtype:
        told.insert(0, "Expected: {}. Yours: {}.".format(*shapes_of(expected, actual)))
    left = len(places) - MOST_TOLD
    return [*told, f"{left} more of {expected.numel()} entries differ."] if left > 0 else told


def told_at(place: tuple[int, ...], expected: torch.Tensor, actual: torch.Tensor) -> str:
    """Return a sentence on one entry that differs.

    >>> told_at((), torch.tensor(-0.25), torch.tensor(0.5))
    'Expected -0.25, yours 0.5.'
    >>> told_at((1,), torch.tensor([True, True]), torch.tensor([True, False]))
    'At [1]: expected True, yours False.'
    """
    values = [tensor[place].item() for tensor in (expected, actual)]
    right, own = (f"{one:.{MOST_DIGITS}g}" if isinstance(one, float) else one for one in values)
    where = f"At [{', '.join(map(str, place))}]: expected" if place else "Expected"
    return f"{where} {right}, yours {own}."


def shapes_of(expected: torch.Tensor, actual: torch.Tensor | None) -> tuple[str, str]:
    """Return both shapes, with the dtypes unless both are float32, such as `(6, 6), float64`."""
    both = [expected] if actual is None else [expected, actual]
    shapes = [spoken_shape(one.shape) for one in both]
    if any(one.dtype != torch.float32 for one in both):
        names = (str(one.dtype).removeprefix("torch.") for one in both)
        shapes = [f"{shape}, {name}" for shape, name in zip(shapes, names, strict=True)]
    return shapes[0], "no tensor" if actual is None else shapes[1]
