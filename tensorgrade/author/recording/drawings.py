"""Random numbers that are not drawn yet: cases are data, and each case draws its own numbers.

A drawing that occurs several times in a case is drawn once. Drawings are made in the order in which
they occur.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import torch

from ...course import CourseError


@dataclass(frozen=True, eq=False)
class Drawing:
    """A tensor that is drawn when its case is recorded. It supports arithmetic with numbers.

    >>> Draw(1).value(0 * normal(2) + 3)
    tensor([3., 3.], dtype=torch.float64)
    """

    make: Callable[["Draw"], torch.Tensor]

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
    return Drawing(lambda draw: draw.normal(*shape))


def weights(*shape: int) -> Drawing:
    """Return random numbers from 0.6 to 1.0 with random signs, so that every wrong scale shows.

    Raise CourseError for an invalid shape.
    """
    refuse_other_sizes("weights", shape)
    return Drawing(lambda draw: draw.weights(*shape))


def refuse_other_sizes(name: str, shape: tuple[int, ...]) -> None:
    """Raise CourseError if a size is not an integer, for example a shape that was not unpacked."""
    if not all(isinstance(size, int) for size in shape):
        raise CourseError(
            f"{name}{shape!r}: pass sizes as separate integers; "
            f"for a tuple `shape`, write {name}(*shape)"
        )


def computed(function: Callable, *values: Any) -> Drawing:
    """Return a drawing that applies a function to drawings and other values."""
    return Drawing(lambda draw: function(*map(draw.value, values)))


class Draw:
    """Seeded numbers for one case: float64 by default, and the same on every platform.

    >>> Draw(1).normal(2).shape, Draw(1).weights(3, 2).abs().min() > 0.5
    (torch.Size([2]), tensor(True))
    """

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64):
        self.generator, self.dtype = torch.Generator().manual_seed(seed), dtype
        self.made: dict[Drawing, torch.Tensor] = {}

    def normal(self, *shape: int) -> torch.Tensor:
        """Return standard normal numbers."""
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return drawn.to(self.dtype)

    def weights(self, *shape: int) -> torch.Tensor:
        """Return numbers of about ±0.8, none near zero, so that any wrong scale is visible."""
        size = 0.6 + 0.4 * torch.rand(*shape, generator=self.generator, dtype=torch.float64)
        signs = torch.rand(*shape, generator=self.generator, dtype=torch.float64) < 0.5
        return torch.where(signs, -size, size).to(self.dtype)

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


def seed_for(master: int, *purpose: str | int) -> int:
    """Return a seed of 63 bits for one purpose; it reveals neither master nor other seeds.

    This holds only if master cannot be guessed. The hash is public, so the key is the only secret.

    >>> seed_for(1, "mean", "a/1") == seed_for(1, "mean/a", "1")
    False
    """
    key = blake2b(str(master).encode()).digest()
    digest = blake2b(json.dumps(purpose).encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big") >> 1
