"""What was expected and what came back, side by side as shaded blocks. For public cases only."""

import torch
from rich.text import Text

from ..cases import spoken_shape
from ..diagnosis import OpenDiagnosis
from ..judging.places import dimension_name
from .blocks import MOST, Window, as_matrices, block, largest_of, widest, window

GAP = 4


def comparison(diagnosis: OpenDiagnosis, width: int, colour: bool) -> list[Text]:
    """First the shapes; then, where these agree, both blocks with the differences marked."""
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
    blocks = [block(m, hits, largest, cell, colour) for m, hits in zip(both, (nothing, marked))]
    names = [f"expected, {shape_of(expected)}", f"yours, {shape_of(actual)} (x: differs)"]
    return [*beside(names, blocks, width), *caption(shown, differs)]


def shape_of(tensor: torch.Tensor | None) -> str:
    """`6×6, float32`."""
    if not isinstance(tensor, torch.Tensor):
        return "no tensor"
    return f"{spoken_shape(tensor.shape)}, {str(tensor.dtype).removeprefix('torch.')}"


def beside(names: list[str], blocks: list[list[Text]], width: int) -> list[Text]:
    """Two blocks with their names above them: side by side where they fit, else one below the other."""
    wide = [max(len(name), max(len(line) for line in lines)) for name, lines in zip(names, blocks)]
    columns = [[Text(name), *lines] for name, lines in zip(names, blocks)]
    if sum(wide) + GAP > width:
        return [*columns[0], Text(""), *columns[1]]
    return [left + Text(" " * (wide[0] - len(left) + GAP)) + right for left, right in zip(*columns)]


def caption(shown: Window, differs: torch.Tensor) -> list[Text]:
    """Which part of a larger tensor this is; nothing where it is all of it."""
    parts = [f"{dimension_name(dim, differs.ndim)} {index}" for dim, index in enumerate(shown.lead)]
    rows, columns = as_matrices(differs).shape[-2:]
    if rows > MOST:
        parts.append(f"rows {shown.first_row} to {shown.first_row + MOST - 1}")
    if columns > MOST:
        parts.append(f"columns {shown.first_column} to {shown.first_column + MOST - 1}")
    return [Text(f"({', '.join(parts)}; counted from 0)")] if parts else []
