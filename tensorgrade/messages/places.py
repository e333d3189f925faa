"""Messages about the places where a result is wrong."""

from dataclasses import dataclass
from enum import StrEnum

from .message import Message, listed

# What people call the slices along each dimension of a tensor, by how many dimensions it has.
DIMENSIONS = {
    1: ("entry",),
    2: ("row", "column"),
    3: ("slice", "row", "column"),
    4: ("slice", "slice", "row", "column"),
}


def python_index(index: str, dim: int, rank: int) -> str:
    """Return what Python writes to take slices along a dimension.

    >>> python_index("3", 0, 2), python_index("3", 1, 2), python_index("3", 3, 4)
    ('[3]', '[:, 3]', '[..., 3]')
    """
    before = "..., " if 1 < dim == rank - 1 else ":, " * dim
    return f"[{before}{index}]"


def plural_of(name: str) -> str:
    """Return the plural of a dimension's name: `rows`, `entries`."""
    return "entries" if name == "entry" else f"{name}s"


@dataclass(frozen=True)
class SomeSlices(Message):
    """Some slices along a dimension, by their first indices. more: the number left out."""

    id = "some_slices"
    dim: int
    rank: int
    first: tuple[int, ...]
    more: int = 0

    def wording(self) -> str:
        name = DIMENSIONS[self.rank][self.dim] if self.rank in DIMENSIONS else "slice"
        name = plural_of(name) if self.is_plural else name
        more = [f"{self.more} more"] if self.more else []
        places = [f"`{python_index(str(one), self.dim, self.rank)}`" for one in self.first]
        return f"{name} {listed([*places, *more])}"

    @property
    def is_plural(self) -> bool:
        """True for more than one slice."""
        return len(self.first) + self.more > 1


@dataclass(frozen=True)
class DifferEverywhere(Message):
    id = "differ_everywhere"
    template = "all entries differ"


class Side(StrEnum):
    """A side of the diagonal of square matrices."""

    ABOVE = "above"
    BELOW = "below"
    ON = "on"
    ON_OR_BELOW = "on or below"


@dataclass(frozen=True)
class DifferOnSide(Message):
    id = "differ_on_side"
    template = "all differences are {side} the diagonal"
    side: Side


@dataclass(frozen=True)
class DifferOnlyIn(Message):
    id = "differ_only_in"
    template = "all differences are in {places}"
    places: SomeSlices


@dataclass(frozen=True)
class RightOnlyIn(Message):
    id = "right_only_in"
    places: SomeSlices

    def wording(self) -> str:
        return "only {places} are right" if self.places.is_plural else "only {places} is right"


@dataclass(frozen=True)
class EntriesDiffer(Message):
    id = "entries_differ"
    template = "{count} of {entries} entries differ"
    count: int
    entries: int


@dataclass(frozen=True)
class NaNEverywhere(Message):
    id = "nan_everywhere"
    template = "every entry is NaN"


@dataclass(frozen=True)
class NaNOnlyIn(Message):
    id = "nan_only_in"
    template = "NaN is only in {places}"
    places: SomeSlices


@dataclass(frozen=True)
class EntriesAreNaN(Message):
    id = "entries_are_nan"
    template = "{count} of {entries} entries are NaN"
    count: int
    entries: int


# Messages that say how many entries are wrong, and not which.
HowMany = DifferEverywhere | EntriesDiffer | NaNEverywhere | EntriesAreNaN
