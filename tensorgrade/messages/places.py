"""Messages about the places where a result is wrong."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from .message import FromLearner, Message, listed

FROM_0 = " (counted from 0)"
# What people call the dimensions of a tensor, by how many it has.
DIMENSIONS = {
    1: ("entry",),
    2: ("row", "column"),
    3: ("batch row", "row", "column"),
    4: ("batch row", "block", "row", "column"),
}


def dimension_name(dim: int, rank: int) -> str:
    """Return the common name of a dimension, such as `column`, or else `dimension 4, index`."""
    return DIMENSIONS[rank][dim] if rank in DIMENSIONS else f"dimension {dim}, index"


def plural_of(name: str) -> str:
    """Return the plural of a dimension's name: `rows`, `entries`."""
    return "entries" if name == "entry" else f"{name}s"


@dataclass(frozen=True)
class SomeSlices(Message):
    """Some slices along a dimension, by their first indices. more: the number left out."""

    id = "some_slices"
    dim: int
    rank: int
    first: Annotated[tuple[int, ...], FromLearner]
    more: Annotated[int, FromLearner] = 0

    def wording(self) -> str:
        name = dimension_name(self.dim, self.rank)
        if len(self.first) > 1 and self.rank in DIMENSIONS:
            name = plural_of(name)
        more = [f"{self.more} more"] if self.more else []
        return f"{name} {listed([*self.first, *more])}"

    @property
    def other(self) -> str:
        """Return the word for another slice along this dimension."""
        return DIMENSIONS[self.rank][self.dim] if self.rank in DIMENSIONS else "index"


@dataclass(frozen=True)
class DifferEverywhere(Message):
    id = "differ_everywhere"
    template = "they differ everywhere"


class Side(StrEnum):
    """A side of the diagonal of square matrices."""

    ABOVE = "above"
    BELOW = "below"
    ON = "on"
    ON_OR_BELOW = "on or below"


@dataclass(frozen=True)
class DifferOnSide(Message):
    id = "differ_on_side"
    template = "every difference lies {side} the diagonal"
    side: Annotated[Side, FromLearner]


@dataclass(frozen=True)
class DifferOnlyIn(Message):
    id = "differ_only_in"
    template = "all differences are in {places}" + FROM_0
    places: SomeSlices


@dataclass(frozen=True)
class RightOnlyIn(Message):
    id = "right_only_in"
    template = "all is right in {places}, and in no other {places.other}" + FROM_0
    places: SomeSlices


@dataclass(frozen=True)
class EntriesDiffer(Message):
    id = "entries_differ"
    template = "{count} of {entries} entries differ"
    count: Annotated[int, FromLearner]
    entries: int


@dataclass(frozen=True)
class NaNEverywhere(Message):
    id = "nan_everywhere"
    template = "NaN stands everywhere"


@dataclass(frozen=True)
class NaNOnlyIn(Message):
    id = "nan_only_in"
    template = "NaN stands in {places} alone" + FROM_0
    places: SomeSlices


@dataclass(frozen=True)
class EntriesAreNaN(Message):
    id = "entries_are_nan"
    template = "{count} of {entries} entries are NaN"
    count: Annotated[int, FromLearner]
    entries: int


# Messages that say how many entries are wrong, and not which.
HowMany = DifferEverywhere | EntriesDiffer | NaNEverywhere | EntriesAreNaN
