"""The values of the right answer on a case, from its trace, prepared for searching."""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import chain

import torch

from ..exchange.traces import Stage, Trace
from .remarks import constant

# Entries below this count as hidden places: entries that a later step ignores, such as -inf.
HIDDEN = -1e6
CLOSE = 2e-5  # the relative difference that counts as rounding
MOST_STARTS = 8  # places tried at which a piece may begin
MOST_COPIES = 8
MOST_CASES = 200  # traces (one for each case) whose prepared values are cached
FILLS = {"zeros", "ones", "full", "empty", "zero_", "fill_", "fill"}


class Rows:
    """Values of equal size, stacked in rows, with their places in the reference trace."""

    def __init__(self, known: list[tuple[int, torch.Tensor]]):
        self.places = [place for place, _ in known]
        self.values = torch.stack([value.flatten() for _, value in known])
        self.room = torch.stack([room_of(value) for _, value in known]).unsqueeze(1)

    def close_to(self, value: torch.Tensor) -> list[int]:
        """Return the places of values that are equal up to rounding, infinities included."""
        value = value.flatten()
        same = (self.values == value) | ((self.values - value).abs() <= self.room)
        return [place for place, one in zip(self.places, same.all(1).tolist(), strict=True) if one]


class RightValues:
    """The values of the reference trace on one case, prepared for searching."""

    def __init__(self, trace: Trace):
        self.stages = trace.stages
        self.by_size: dict[int, list[tuple[int, torch.Tensor, torch.Tensor]]] = {}
        self.constants: dict[torch.Size, set[float]] = {}
        for at, stage in enumerate(trace.stages):
            if stage.value is not None and tells(stage.value):
                value = normal(stage.value)
                known = self.by_size.setdefault(value.numel(), [])
                known.append((at, value, value.flatten().sort().values))
            elif stage.value is not None and stage.value.numel():
                number = float(normal(stage.value).flatten()[0])
                self.constants.setdefault(stage.value.shape, set()).add(number)

    def equal(self, value: torch.Tensor) -> list[int]:
        """Return the places of this value; dimensions of size 1 are ignored."""
        value = normal(value).squeeze()
        rows = self.by_shape.get(value.shape)
        return rows.close_to(value) if rows else []

    def with_its_numbers(self, value: torch.Tensor) -> list[int]:
        """Return the places of values with the same numbers, in any order and shape."""
        numbers = normal(value).flatten().sort().values
        rows = self.in_order.get(value.numel())
        return rows.close_to(numbers) if rows else []

    @cached_property
    def by_shape(self) -> dict[torch.Size, Rows]:
        """All values by their shape without dimensions of size 1."""
        found: dict[torch.Size, list] = {}
        for at, value, _ in chain.from_iterable(self.by_size.values()):
            found.setdefault(value.squeeze().shape, []).append((at, value))
        return {shape: Rows(known) for shape, known in found.items()}

    @cached_property
    def in_order(self) -> dict[int, Rows]:
        """The sorted numbers of all values, by their count."""
        return {
            size: Rows([(at, numbers) for at, _, numbers in known])
            for size, known in self.by_size.items()
        }

    @cached_property
    def factors(self) -> list[float]:
        """The factors by which right answers multiply or divide values, and their roots."""
        found: list[float] = []
        for stage in self.stages:
            for at in stage.inputs:
                factor = factor_of(stage.value, self.stages[at].value)
                if factor and not is_one_of(factor, found):
                    found += [factor, factor**0.5]
        return found

    @cached_property
    def unscaled(self) -> list[tuple[torch.Tensor, float]]:
        """The values that are not one of `factors` times another value, each with its `weight`."""
        values = [value for known in self.by_size.values() for _, value, _ in known]
        weighed = [(value, weight(value)) for value in values]
        return [one for one in weighed if not self.is_multiple(one[0], weighed)]

    def is_multiple(self, value: torch.Tensor, others: list[tuple[torch.Tensor, float]]) -> bool:
        """Return True if a value is one of the others times one of `factors`.

        others: values, each with its `weight`.
        """
        value, own = value.squeeze(), weight(value)
        return any(
            other.numel() == value.numel()
            and is_one_of(own / heavy, self.factors)  # checked first because it is fast
            and other.squeeze().shape == value.shape
            and is_one_of(factor_of(value, other.squeeze()) or 0.0, self.factors)
            for other, heavy in others
        )

    @cached_property
    def spread(self) -> dict[str, int]:
        """By name: how many values have it. The fewer, the more specific."""
        return Counter(name for stage in self.stages for name in set(stage.names))

    def name(self, at: int) -> str:
        """Return the most specific name of a value."""
        return min(self.stages[at].names, key=lambda name: self.spread[name])

    def called(self, names: set[str]) -> list[int]:
        """Return the places of values with these names."""
        return [at for at, one in enumerate(self.stages) if not names.isdisjoint(one.names)]

    def scaled(self, value: torch.Tensor) -> bool:
        """Return True if a value is a right one times one factor that right answers use."""
        return bool(self.factors) and self.is_multiple(normal(value), self.unscaled)

    def multiples(self, value: torch.Tensor) -> list[int]:
        """Return the places of values that equal this one times a factor, other than 1."""
        known = self.by_size.get(value.numel(), [])
        return [at for at, other, _ in known if factor_of(value, other)]

    @cached_property
    def shapes(self) -> set[tuple[int, ...]]:
        """The shapes of all values, without dimensions of size 1."""
        values = (stage.value for stage in self.stages)
        return {tuple(value.squeeze().shape) for value in values if value is not None}

    def has_copied(self, value: torch.Tensor) -> bool:
        """Return True if a value consists of several copies of a right value."""
        return any(
            all(torch.equal(part, parts[0]) for part in parts) and bool(self.equal(parts[0]))
            for dim, size in enumerate(value.shape)
            for count in range(2, min(size, MOST_COPIES) + 1)
            if size % count == 0 and (parts := value.chunk(count, dim))
        )

    def agrees_at(self, value: torch.Tensor, places: torch.Tensor) -> bool:
        """Return True if a right value of that shape has the same numbers where a mask is True."""
        return any(
            bool(alike(value.double()[places], other[places]).all())
            for other in self.of_shape(value.shape)
        )

    def agrees_in(self, value: torch.Tensor, count: int) -> bool:
        """Return True if a right value of that shape has at least so many equal numbers."""
        return any(
            int(alike(value.double(), other).sum()) >= max(count, 1)
            for other in self.of_shape(value.shape)
        )

    def of_shape(self, shape: torch.Size) -> Iterator[torch.Tensor]:
        """Yield the values of a shape."""
        for at, *_ in self.by_size.get(shape.numel(), []):
            value = self.stages[at].value
            if value is not None and value.shape == shape:
                yield value.double()

    def has_part(self, value: torch.Tensor) -> bool:
        """Return True if a value is a piece, a column or a slice of a right one, as in loops.

        Several equal numbers are not counted as a piece, because they occur everywhere.
        """
        if value.numel() > 1 and not tells(value):
            return False
        part = normal(value)
        piece = part.flatten()
        larger = (known for size, known in self.by_size.items() if size > len(piece))
        return any(
            holds(other.flatten(), piece)
            or (value.ndim == 1 and holds(columns(other), piece))
            or any(close(part, one) for one in slices(other, part.shape))
            for known in larger
            for _, other, _ in known
        )


def slices(value: torch.Tensor, shape: torch.Size) -> Iterator[torch.Tensor]:
    """Yield the slices of a value that have this shape, along each dimension."""
    for dim in range(value.ndim):
        if value.shape[:dim] + value.shape[dim + 1 :] == shape:
            yield from value.unbind(dim)


def columns(value: torch.Tensor) -> torch.Tensor:
    """Return the numbers of a value, column by column."""
    return value.mT.flatten() if value.ndim > 1 else value


def holds(numbers: torch.Tensor, piece: torch.Tensor) -> bool:
    """Return True if the numbers contain this piece without gaps."""
    last = len(numbers) - len(piece) + 1
    starts = alike(numbers[:last], piece[:1]).nonzero().flatten().tolist()
    return any(
        bool(alike(numbers[at : at + len(piece)], piece).all()) for at in starts[:MOST_STARTS]
    )


def alike(numbers: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Return a mask of the numbers that are equal up to rounding."""
    return (numbers == others) | ((numbers - others).abs() <= CLOSE * (1 + others.abs()))


def normal(value: torch.Tensor) -> torch.Tensor:
    """Return a value in float64, in a form in which equivalent values are equal.

    All hidden places become -inf, and all NaN the same number. If a matrix has only two different
    numbers, only their places matter: entries become 1 if they equal the first entry, otherwise 0.
    For example, a mask equals its negation.
    """
    value = value.double()
    value = value.masked_fill(value < HIDDEN, -torch.inf).nan_to_num(nan=7e77, neginf=-torch.inf)
    different = value.unique()
    if len(different) == 2 and value.ndim > 1 and value.numel() > 2:
        return (value == value.flatten()[0]).double()
    return value


def fills(stage: Stage) -> bool:
    """Return True if an operation fills a tensor with one number or leaves it empty."""
    return stage.operation.removeprefix("new_").removesuffix("_like") in FILLS


def tells(value: torch.Tensor) -> bool:
    """Return True if a value has different numbers, so that it is not a constant."""
    return value.numel() > 1 and bool((value != value.flatten()[0]).any())


def is_nan(value: torch.Tensor | None, or_inf: bool = False) -> bool:
    """Return True if a value holds NaN, or plus infinity if that counts too."""
    if value is None or not value.is_floating_point():
        return False
    return bool(value.isnan().any()) or (or_inf and bool(value.isposinf().any()))


def room_of(value: torch.Tensor) -> torch.Tensor:
    """Return the largest difference from a value that counts as rounding, as a tensor."""
    finite = value[value.isfinite()]
    return CLOSE * (finite.abs().max() if finite.numel() else torch.ones((), dtype=value.dtype))


def close(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Return True if two values are equal up to rounding, with infinities in the same places."""
    return bool(((value == other) | ((value - other).abs() <= room_of(other))).all())


@lru_cache(maxsize=MOST_CASES)
def right_values(trace: Trace) -> RightValues:
    """Return the values of a trace, prepared once because they serve every learner.

    Nothing of a learner is cached with them.
    """
    return RightValues(trace)


def factor_of(value: torch.Tensor | None, other: torch.Tensor | None) -> float | None:
    """Return the only factor between two values, other than 1; None if there is none.

    Hidden places are ignored.
    """
    if value is None or other is None or value.shape != other.shape or not tells(other):
        return None
    value, other = normal(value), normal(other)
    seen = value.isfinite() & other.isfinite()
    if not torch.equal(value.isfinite(), other.isfinite()) or not tells(other[seen]):
        return None
    factor = constant(value[seen], other[seen])
    return factor if factor and factor > 0 and abs(factor - 1) > 1e-4 else None


def weight(value: torch.Tensor) -> float:
    """Return the sum of a value's finite numbers' absolute values; 1 if the sum is 0."""
    return float(value.abs().where(value.isfinite(), torch.zeros_like(value)).sum()) or 1.0


def is_one_of(factor: float, factors: list[float]) -> bool:
    """Return True if a factor is among others, up to rounding."""
    return any(abs(factor - one) < 1e-4 * one for one in factors)
