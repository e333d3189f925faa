"""Random numbers that are not drawn yet: cases are data, and each case draws its own numbers.

A drawing that occurs several times in a case is drawn once. Drawings are made in the order in which
they occur.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...course import CourseError
from ...exchange.cases import Draw


@dataclass(frozen=True, eq=False)
class Drawing:
    """A tensor that is drawn when its case is recorded. It supports arithmetic with numbers.

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
    """Return standard normal numbers of this shape. Raise CourseError for an invalid shape."""
    refuse_other_sizes("normal", shape)
    return Drawing(lambda drawn: drawn.draw.normal(*shape))


def weights(*shape: int) -> Drawing:
    """Return random numbers from 0.6 to 1.0 with random signs, so that every wrong scale shows.

    Raise CourseError for an invalid shape.
    """
    refuse_other_sizes("weights", shape)
    return Drawing(lambda drawn: drawn.draw.weights(*shape))


def refuse_other_sizes(name: str, shape: tuple[int, ...]) -> None:
    """Raise CourseError if a size is not an integer, for example a shape that was not unpacked."""
    if not all(isinstance(size, int) for size in shape):
        raise CourseError(
            f"{name}{shape!r}: pass sizes as separate integers; "
            f"for a tuple `shape`, write {name}(*shape)"
        )


def computed(function: Callable, *values: Any) -> Drawing:
    """Return a drawing that applies a function to drawings and other values."""
    return Drawing(lambda drawn: function(*map(drawn.value, values)))


class Drawn:
    """The numbers that one case has drawn so far."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self.made: dict[Drawing, torch.Tensor] = {}

    def value(self, value: Any) -> Any:
        """Return the value with its drawings made, also inside lists, tuples and dicts."""
        if isinstance(value, (list, tuple)):
            return type(value)(map(self.value, value))
        if isinstance(value, dict):
            return {key: self.value(part) for key, part in value.items()}
        if not isinstance(value, Drawing):
            return value
        if value not in self.made:
            self.made[value] = value.make(self)
        return self.made[value]
