"""Numbers that are still to be drawn: cases are data, and each case draws its own numbers.

A drawing that stands in several places of a case is drawn once. Drawings are made in the order in
which they stand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...course import CourseError
from ...exchange.cases import Draw


@dataclass(frozen=True, eq=False)
class Drawing:
    """A tensor to be made when its case is recorded. Numbers may be added, and it may be scaled.

    >>> Drawn(Draw(1)).value(0 * normal(2) + 3)
    tensor([3., 3.], dtype=torch.float64)
    """

    make: Callable[["Drawn"], torch.Tensor]

    def __add__(self, number: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn + number, self)

    def __sub__(self, number: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn - number, self)

    def __mul__(self, factor: float | torch.Tensor) -> "Drawing":
        return computed(lambda drawn: drawn * factor, self)

    def __neg__(self) -> "Drawing":
        return computed(torch.neg, self)

    __radd__, __rmul__ = __add__, __mul__


def normal(*shape: int) -> Drawing:
    """Standard normal numbers of this shape. Raises CourseError where it is none."""
    refuse_other_sizes("normal", shape)
    return Drawing(lambda drawn: drawn.draw.normal(*shape))


def weights(*shape: int) -> Drawing:
    """Numbers of about ±0.8: none near zero, so that every wrong scale shows.

    Raises CourseError where the shape is none.
    """
    refuse_other_sizes("weights", shape)
    return Drawing(lambda drawn: drawn.draw.weights(*shape))


def refuse_other_sizes(name: str, shape: tuple[int, ...]) -> None:
    """Raises CourseError where a size is no whole number, as a shape that is not taken apart."""
    if not all(isinstance(size, int) for size in shape):
        raise CourseError(
            f"{name}{shape!r}: sizes are whole numbers, one by one; "
            f"of a tuple `shape` that is {name}(*shape)"
        )


def computed(function: Callable, *values: Any) -> Drawing:
    """What a function makes of drawings, and of other values."""
    return Drawing(lambda drawn: function(*map(drawn.value, values)))


class Drawn:
    """What one case has drawn so far."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self.made: dict[Drawing, torch.Tensor] = {}

    def value(self, value: Any) -> Any:
        """The value with its drawings made, in lists, tuples and dicts too."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.value, value))
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        if not isinstance(value, Drawing):
            return value
        if value not in self.made:
            self.made[value] = value.make(self)
        return self.made[value]
