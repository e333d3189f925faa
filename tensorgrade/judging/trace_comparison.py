"""Find where an attempt's values diverge from those of right answers, on a public case.

The comparison goes back from a wrong result to the first value that no right answer has. A value
that no right answer has, but that leads to a right one later, is only another method.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import chain

import torch

from ..exchange.cases import Case
from ..exchange.references import Seen
from ..exchange.traces import Stage, Trace
from ..messages.divergence import (
    AtLine,
    ComesTooEarly,
    FirstOfItsKind,
    HidesNothing,
    HidesOthers,
    HoldsOtherValue,
    IsDue,
    IsLast,
    KeepsOrder,
    LeftAsMade,
    LineIs,
    LookFrom,
    MadeAt,
    MakesSomethingElse,
    NothingIsDone,
    NothingIsDoneWith,
    NotLowEnough,
    ReadsFrom,
    ReturnsEarlierValue,
    ReturnsMore,
    ReturnsOtherNumber,
    RightUpTo,
    RoundsTo,
    SaysAll,
    ShouldComeBack,
    StartsWithOtherNumber,
    StillAsMade,
    UnknownShape,
    ValuesDiverge,
)
from ..messages.message import Clauses, Message, Sentences
from ..messages.remarks import Compared, SoftmaxInputTimesFactor, TimesFactor
from ..runner.steps import Passing
from .remarks import constant, remarks, rounded, same, sums
from .tensor_comparison import where_they_differ

HIDDEN = -1e6  # a hidden place holds a number below this
CLOSE = 2e-5
MOST_REACHED = 4
MOST_STARTS = 8  # places tried at which a piece may begin
MOST_COPIES = 8
MOST_CASES = 200  # cases whose right values are cached: more than a course has
TURNS = {"T", "mT", "H", "t", "transpose", "swapaxes", "swapdims", "permute", "movedim", "moveaxis"}
PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "mm", "bmm"}
RESHAPES = {"view", "reshape", "flatten", "unflatten"}
COPIES = {"cat", "concat", "concatenate", "hstack", "vstack", "stack", "repeat", "tile", "expand"}
FILLS = {"zeros", "ones", "full", "empty", "zero_", "fill_", "fill"}
DIGITS = {torch.float32: "seven", torch.float16: "three", torch.bfloat16: "two"}
SAME_DIGITS = 1e-8  # the relative difference of results in float64 that counts as none
NEARLY_ONE = 0.01  # a factor this close to 1 has about the same size on other cases


@dataclass(frozen=True)
class Divergence:
    """The line where a wrong answer diverges from right ones; 0 if only its stage is known.

    stage: the name of the value that is missing there, if known. reached: the names of right values
    before it, in order. upto: the line of the last of them. what: a description of the wrong value.
    said: the message to learners. unused: a line that makes a right value that nothing uses; or 0.
    since, until: the first and the last line where the mistake may be, if it need not be the line
    itself; else 0. reads: (name, line) of the values that the line reads and another line makes.
    raised: True if it is the line of an error, which is reported already. correct: the operations
    whose values are all right, as (line, operation).
    """

    line: int
    stage: str = ""
    reached: tuple[str, ...] = ()
    upto: int = 0
    what: Message | None = None
    said: Sentences | None = None
    unused: int = 0
    since: int = 0
    until: int = 0
    reads: tuple[tuple[str, int], ...] = ()
    raised: bool = False
    correct: frozenset[tuple[int, str]] = frozenset()

    @property
    def stretch(self) -> tuple[int, int]:
        """The first and the last line where the mistake may be."""
        return self.since or self.line, self.until or self.line


class Rows:
    """Values of equal size, stacked in rows, with their places in reference traces."""

    def __init__(self, known: list[tuple[tuple[Trace, int], torch.Tensor]]):
        self.places = [place for place, _ in known]
        self.values = torch.stack([value.flatten() for _, value in known])
        self.room = torch.stack([room_of(value) for _, value in known]).unsqueeze(1)

    def close_to(self, value: torch.Tensor) -> list[tuple[Trace, int]]:
        """Return the places of values that are equal up to rounding, infinities included."""
        value = value.flatten()
        same = (self.values == value) | ((self.values - value).abs() <= self.room)
        return [place for place, one in zip(self.places, same.all(1).tolist(), strict=True) if one]


class RightValues:
    """The values of all reference traces on one case, prepared for searching."""

    def __init__(self, ways: tuple[Trace, ...]):
        self.ways = ways
        self.by_size: dict[int, list[tuple[Trace, int, torch.Tensor, torch.Tensor]]] = {}
        self.constants: dict[torch.Size, set[float]] = {}
        for way in ways:
            for at, stage in enumerate(way.stages):
                if stage.value is not None and tells(stage.value):
                    value = normal(stage.value)
                    known = self.by_size.setdefault(value.numel(), [])
                    known.append((way, at, value, value.flatten().sort().values))
                elif stage.value is not None and stage.value.numel():
                    number = float(normal(stage.value).flatten()[0])
                    self.constants.setdefault(stage.value.shape, set()).add(number)

    def equal(self, value: torch.Tensor) -> list[tuple[Trace, int]]:
        """Return the places of this value; dimensions of size 1 are ignored."""
        value = normal(value).squeeze()
        rows = self.by_shape.get(value.shape)
        return rows.close_to(value) if rows else []

    def with_its_numbers(self, value: torch.Tensor) -> list[tuple[Trace, int]]:
        """Return the places of values with the same numbers, in any order and shape."""
        numbers = normal(value).flatten().sort().values
        rows = self.in_order.get(value.numel())
        return rows.close_to(numbers) if rows else []

    @cached_property
    def by_shape(self) -> dict[torch.Size, Rows]:
        """All values by their shape without dimensions of size 1."""
        found: dict[torch.Size, list] = {}
        for way, at, value, _ in chain.from_iterable(self.by_size.values()):
            found.setdefault(value.squeeze().shape, []).append(((way, at), value))
        return {shape: Rows(known) for shape, known in found.items()}

    @cached_property
    def in_order(self) -> dict[int, Rows]:
        """The sorted numbers of all values, by their count."""
        return {
            size: Rows([((way, at), numbers) for way, at, _, numbers in known])
            for size, known in self.by_size.items()
        }

    @cached_property
    def factors(self) -> list[float]:
        """The factors by which right answers multiply or divide values, and their roots."""
        found: list[float] = []
        for way in self.ways:
            for stage in way.stages:
                for at in stage.inputs:
                    factor = factor_of(stage.value, way.stages[at].value)
                    if factor and not is_one_of(factor, found):
                        found += [factor, factor**0.5]
        return found

    @cached_property
    def unscaled(self) -> list[tuple[torch.Tensor, float]]:
        """The values that are not such a multiple of another one, each with its weight."""
        values = [value for known in self.by_size.values() for _, _, value, _ in known]
        weighed = [(value, weight(value)) for value in values]
        return [one for one in weighed if not self.is_multiple(one[0], weighed)]

    def is_multiple(self, value: torch.Tensor, others: list[tuple[torch.Tensor, float]]) -> bool:
        """Return True if a value is one of the others (each with its weight) times a factor."""
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
        """By name: the most values with it in one trace. A name with few values says more."""
        return {
            name: max(sum(name in stage.names for stage in way.stages) for way in self.ways)
            for name in {n for way in self.ways for stage in way.stages for n in stage.names}
        }

    def name(self, way: Trace, at: int) -> str:
        """Return the most specific name of a value of a trace."""
        return min(way.stages[at].names, key=lambda name: self.spread[name])

    def called(self, names: set[str]) -> list[tuple[Trace, int]]:
        """Return the places of values with these names."""
        return [
            (way, at)
            for way in self.ways
            for at, stage in enumerate(way.stages)
            if not names.isdisjoint(stage.names)
        ]

    def scaled(self, value: torch.Tensor) -> bool:
        """Return True if a value is a right one times a factor that right answers use once."""
        return bool(self.factors) and self.is_multiple(normal(value), self.unscaled)

    def multiples(self, value: torch.Tensor) -> list[tuple[Trace, int]]:
        """Return the places of values that differ from this one only by a factor."""
        known = self.by_size.get(value.numel(), [])
        return [(way, at) for way, at, other, _ in known if factor_of(value, other)]

    @cached_property
    def shapes(self) -> set[tuple[int, ...]]:
        """The shapes of all values, without dimensions of size 1."""
        values = (stage.value for way in self.ways for stage in way.stages)
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
        """Return True if a right value of that shape has the same numbers at these places."""
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
        for way, at, *_ in self.by_size.get(shape.numel(), []):
            value = way.stages[at].value
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
            for _, _, other, _ in known
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
    """Return a value in float64, with one number for all hidden places and one for NaN.

    If a value holds two different numbers in many places, only their places count, not which is
    which. For example, a mask may be True where another one is False.
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
    """Return the largest difference from a value that still counts as close."""
    finite = value[value.isfinite()]
    return CLOSE * (finite.abs().max() if finite.numel() else torch.ones((), dtype=value.dtype))


def close(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Return True if two values are equal up to rounding, with infinities in the same places."""
    return bool(((value == other) | ((value - other).abs() <= room_of(other))).all())


@lru_cache(maxsize=MOST_CASES)
def right_values(ways: tuple[Trace, ...]) -> RightValues:
    """Return the values of these traces, prepared once because they serve every learner.

    Nothing of a learner is cached with them.
    """
    return RightValues(ways)


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
    """Return the sum of a value's absolute numbers, without hidden places; never 0."""
    return float(value.abs().where(value.isfinite(), torch.zeros_like(value)).sum()) or 1.0


def is_one_of(factor: float, factors: list[float]) -> bool:
    """Return True if a factor is among others, up to rounding."""
    return any(abs(factor - one) < 1e-4 * one for one in factors)


class Comparison:
    """A comparison of one attempt's trace on a case with the reference traces."""

    def __init__(self, seen: Seen, way: Trace, ways: tuple[Trace, ...]):
        self.case, self.expected, self.observed = seen
        self.way, self.right = way, right_values(ways)
        self.matches = [self.found(stage) for stage in way.stages]
        self.passes: list[bool] = []
        for at in range(len(way.stages)):  # in order, because some pass if their inputs pass
            self.passes.append(self.is_passed(at))

    def found(self, stage: Stage) -> list[tuple[Trace, int]]:
        """Return the places of a stage's value in reference traces."""
        return self.right.equal(stage.value) if stage.value is not None else []

    def is_passed(self, at: int) -> bool:
        """Return True if right answers have a value, or one that differs in no important way."""
        stage, value = self.way.stages[at], self.way.stages[at].value
        if stage.line == 0 or value is None or not value.numel() or self.matches[at]:
            return True
        if self.right.has_part(value) or self.is_written_rightly(stage, value):
            return True
        if not tells(value):
            return False
        alike = [
            known
            for way, i in self.right.with_its_numbers(value)
            if (known := way.stages[i].value) is not None
        ]
        if alike and stage.operation in TURNS:  # the mistake is on the line that misuses it
            return True
        if alike and stage.operation in PRODUCTS:
            return False
        if alike:  # right numbers, but in wrong places if a right value of that shape exists
            return all(known.shape != value.shape for known in alike)
        copies = stage.operation in COPIES and all(self.passes[one] for one in stage.inputs)
        return (copies and self.right.has_copied(value)) or self.right.scaled(value)

    def is_written_rightly(self, stage: Stage, value: torch.Tensor) -> bool:
        """Return True if the part that was written into a value is right.

        The rest may still be written later.
        """
        if stage.operation != "__setitem__" or not stage.inputs:
            return False
        before = self.way.stages[stage.inputs[0]].value
        if before is None:  # nothing was written before, so the other numbers are random
            written = self.way.stages[stage.inputs[-1]].value
            return written is not None and self.right.agrees_in(value, written.numel())
        places = value != before if before.shape == value.shape else before.new_zeros(0).bool()
        return bool(places.any()) and self.right.agrees_at(value, places)

    def region(self, roots: list[int]) -> list[int]:
        """Return the values on the path to these that right answers do not have, in order."""
        found, left = set(roots), list(roots)
        while left:
            for at in self.way.stages[left.pop()].inputs:
                if at not in found and not self.passes[at]:
                    found.add(at)
                    left.append(at)
        return sorted(found)

    def first_lost(self, roots: list[int]) -> int | None:
        """Return the place of the first wrong value on the path to these."""
        region = [at for at in self.region(roots) if self.way.stages[at].line]
        region = [at for at in region if not self.passes[at]]
        told = [at for at in region if self.counts(at)]
        made = [at for at in region if self.way.stages[at].inputs]
        return next(iter(told or made or region), None)

    def is_filler(self, at: int) -> bool:
        """Return True if a value is a constant that only fills a place."""
        stage = self.way.stages[at]
        return fills(stage) and stage.value is not None and not tells(stage.value)

    def wrong_start(self, lost: int) -> int | None:
        """Return a constant that makes a wrong value constant, if right answers use others."""
        value = self.way.stages[lost].value
        if value is None or tells(value):
            return None
        fillers = filter(self.is_filler, self.way.stages[lost].inputs)
        return next((at for at in fillers if self.is_other_filler(self.way.stages[at])), None)

    def is_other_filler(self, stage: Stage) -> bool:
        """Return True if a constant of the file differs from all right constants of that shape."""
        value = stage.value
        if stage.line <= 0 or value is None or value.numel() == 0:
            return False
        known = self.right.constants.get(value.shape, set())
        return bool(known) and float(normal(value).flatten()[0]) not in known

    def is_made_of_constants(self, lost: int) -> bool:
        """Return True if a wrong value comes only from constants: an earlier step is missing."""
        stage, value = self.way.stages[lost], self.way.stages[lost].value
        empty = value is None or not tells(value) or not bool(value.isfinite().any())
        return empty and bool(stage.inputs) and all(map(self.is_filler, stage.inputs))

    def is_unknown(self, at: int) -> bool:
        """Return True if a computed value cannot be judged.

        It may have too few numbers, or it may not be reported, such as complex numbers.
        """
        stage = self.way.stages[at]
        small = not self.passes[at] and not self.counts(at)
        return bool(stage.line and stage.inputs) and (stage.value is None or small)

    def counts(self, at: int) -> bool:
        """Return True if a value can be blamed; a constant that only fills a place cannot."""
        stage = self.way.stages[at]
        filler = not stage.inputs and stage.operation.removeprefix("new_").startswith("empty")
        if stage.value is None or filler:
            return False
        if tells(stage.value) or self.is_flattened(stage, stage.value):
            return True
        return stage.value.numel() == 1 and not called(stage).isdisjoint(self.right.spread)

    def is_flattened(self, stage: Stage, value: torch.Tensor) -> bool:
        """Return True if an operation made all numbers of its input equal."""
        made = [known for at in stage.inputs if (known := self.way.stages[at].value) is not None]
        return (
            value.numel() > 1
            and value.is_floating_point()
            and not fills(stage)
            and any(other.shape == value.shape and tells(other) for other in made)
        )

    def find_divergence(self) -> Divergence | None:
        """Return where the values diverge; None if that is not known."""
        if error := self.observed.error:
            line = next(iter(self.way.raised), error.line)
            return self.before_error(line) if error.verb == "call" else None
        if self.way.cut:  # the trace is cut off before the results
            return None
        roots = self.wrong_results()
        if not roots:
            nothing = self.nothing_back()
            return Divergence(self.way.last, what=IsLast()) if nothing else self.rounded()
        if (bad := self.first_bad(roots)) is not None:
            kind = "NaN" if is_nan(self.way.stages[bad].value) else "infinity"
            return Divergence(
                self.way.stages[bad].line, "", *self.reached(bad), FirstOfItsKind(kind)
            )
        if self.holds_right_results():
            return Divergence(self.way.last or self.way.stages[roots[0]].line, what=ReturnsMore())
        early = (at for at in roots if self.names(at) and self.has_a_right_shape(at))
        if (at := next(early, None)) is not None:
            return self.returned_early(at)
        left = self.left_unused()
        if left is not None and not self.has_own_name(left):
            return self.told_unused(left)
        unused = 0 if left is None else self.way.stages[left].line
        found = self.divergence_before(roots)
        return replace(found, unused=unused) if found and found.line != unused else found

    def correct_operations(self) -> frozenset[tuple[int, str]]:
        """Return (line, operation) of the operations that give right values there, and no other."""
        done = [((stage.line, stage.operation), at) for at, stage in enumerate(self.way.stages)]
        wrong = {one for one, at in done if not self.matches[at]}
        return frozenset({one for one, _ in done} - wrong)

    def rounded(self) -> Divergence | None:
        """Return the line that makes a coarser dtype, if a result differs in late digits only."""
        if not any(map(self.is_nearly_right, self.expected.tensors)):
            return None
        for stage in self.way.stages:
            values = (self.way.stages[at].value for at in stage.inputs)
            from_double = any(v is not None and v.dtype == torch.float64 for v in values)
            digits = "" if stage.value is None else DIGITS.get(stage.value.dtype, "")
            if stage.line and stage.value is not None and from_double and digits:
                dtype = str(stage.value.dtype).removeprefix("torch.")
                return Divergence(stage.line, what=RoundsTo(dtype, digits))
        return None

    def first_bad(self, roots: list[int]) -> int | None:
        """Return the first value with NaN or plus infinity on the path to a result with NaN.

        None if right answers have such values there too.
        """
        if not any(is_nan(self.way.stages[at].value) for at in roots):
            return None
        path = sorted({*roots, *chain(*map(self.ancestors, roots))})
        bad = [at for at in path if is_nan(self.way.stages[at].value, or_inf=True)]
        first = next(iter(bad), None)
        if first is None or first in roots:  # where it appears is known already
            return None
        return first if self.way.stages[first].line and not self.matches[first] else None

    def is_nearly_right(self, name: str) -> bool:
        """Return True if a result differs from the expected one, but only in late digits."""
        right, own = self.expected.tensors[name], self.observed.tensors.get(name)
        if own is None or own.shape != right.shape or right.dtype != torch.float64:
            return False
        gap = (own.double() - right).abs()
        return bool(gap.numel()) and float(gap.max()) > SAME_DIGITS * float(right.abs().max())

    def divergence_before(self, roots: list[int]) -> Divergence | None:
        """Return the divergence at the first wrong value before wrong results, or at its cause."""
        lost = self.first_lost(roots)
        if lost is None:
            return self.right_elsewhere(roots)
        if (misnamed := self.misnamed(lost)) is not None:
            return self.told(misnamed)
        if (start := self.wrong_start(lost)) is not None:
            return Divergence(
                self.way.stages[start].line, "", *self.reached(start), StartsWithOtherNumber()
            )
        if (start := self.misfit_start(lost)) is not None:
            return Divergence(self.way.stages[start].line, what=UnknownShape())
        if self.is_filler(lost) and not self.way.stages[lost].inputs:
            return self.left_as_made(lost, roots)
        if self.is_made_of_constants(lost):
            return None
        if given := self.is_to_come_back():
            what = ShouldComeBack(given, self.options())
            return Divergence(self.way.stages[lost].line, what=what, since=1)
        return self.in_stretch(lost, roots, self.told(lost))

    def in_stretch(self, lost: int, ends: list[int], told: Divergence) -> Divergence:
        """Return a divergence with all lines where the mistake may be, and the values before them.

        Lines before the first wrong value count if their values are only partly right or not
        complete yet. Lines after it, up to the wrong results, count if right answers have no value
        in its place, because it may be another method.
        """
        line = told.line
        loose = [at for at in self.loose_before(lost) if self.way.stages[at].line < line]
        loose += [at for at in self.not_turned(lost) if 0 < self.way.stages[at].line < line]
        if early := self.stops_early(lost):
            told = replace(told, what=ComesTooEarly(), stage="")
            loose = [*loose, *early]
        elif not (told.stage or told.what or lost in ends or self.way.stages[lost].inside):
            after = [at for at in self.region(ends) if at >= lost and self.way.stages[at].line]
            last = max(self.way.stages[at].line for at in after)
            told = replace(told, until=last if last > line else 0)
            loose += [at for at in after if self.way.stages[at].line < line]  # a loop's next round
        if not loose:
            return told
        since = min(self.way.stages[at].line for at in loose)
        reached, upto = self.reached(min(*loose, lost))
        right = (reached, upto) if upto < since else ((), 0)
        return replace(told, since=since, reached=right[0], upto=right[1])

    def loose_before(self, lost: int) -> list[int]:
        """Return inputs of a wrong value that are not known to be right.

        They were reshaped, cut out or scaled in a way that may be wrong, or they are too small to
        compare.
        """
        found: list[int] = []
        left = [lost]
        while left:
            maker = left.pop()
            for at in self.way.stages[maker].inputs:
                stage = self.way.stages[at]
                start = self.is_unknown(maker) and not self.passes[at]
                alone = len([one for one in stage.inputs if self.counts(one)]) == 1
                changed = alone and not self.matches[at] and self.counts(at)
                new = at not in found
                if new and stage.line and (changed or start or self.is_unknown(at)):
                    found.append(at)
                    left.append(at)
        return found

    def stops_early(self, lost: int) -> list[int]:
        """Return values that a loop makes, if right answers combine later values of that loop.

        Empty if right answers combine the same values.
        """
        told = [at for at in self.way.stages[lost].inputs if self.counts(at)]
        made = [at for at in told if self.is_made_in_loop(at)]
        if not made or not all(self.matches[at] for at in told):
            return []
        goes_on = False
        for way in self.right.ways:
            now = [{i for one, i in self.matches[at] if one is way} for at in told]
            later = [
                set[int]().union(*(same_size_from(way, i) for i in p)) if at in made else p
                for at, p in zip(told, now, strict=True)
            ]
            used = [set(stage.inputs) for stage in way.stages]
            if any(all(p & inputs for p in now) for inputs in used):
                return []
            goes_on = goes_on or any(all(p & inputs for p in later) for inputs in used)
        return made if goes_on else []

    def not_turned(self, lost: int) -> list[int]:
        """Return inputs of a wrong value in a form that right answers change before use.

        The other forms that they were taken from are included.
        """
        told = [at for at in self.way.stages[lost].inputs if self.counts(at)]
        if len(told) < 2 or not all(self.matches[at] for at in told):
            return []
        asked = [[(way, turned_from(way, i), i) for way, i in self.matches[at]] for at in told]
        wrong: list[list[int]] = []
        for way in self.right.ways:
            forms = [[(forms, i) for one, forms, i in each if one is way] for each in asked]
            for stage in way.stages:
                used = {*stage.inputs}
                if all(any(not used.isdisjoint(turned) for turned, _ in each) for each in forms):
                    pairs = zip(told, forms, strict=True)
                    wrong.append([at for at, each in pairs if used.isdisjoint(i for _, i in each)])
        found = min(wrong, key=len, default=[])
        left = list(found)
        while left:
            inputs = set(self.way.stages[left.pop()].inputs).difference(found)
            made = [at for at in inputs if self.is_turned(at)]
            found += made
            left += made
        return found

    def is_turned(self, at: int) -> bool:
        """Return True if a value is another one with the same numbers in other places."""
        return any(
            one == at for i in self.way.stages[at].inputs for one in turned_from(self.way, i)
        )

    def is_made_in_loop(self, at: int) -> bool:
        """Return True if the same line has made an earlier value that this one depends on."""
        stage = self.way.stages[at]
        same_line = (self.way.stages[one] for one in self.ancestors(at))
        return any(
            (one.line, one.operation) == (stage.line, stage.operation)
            and one.value is not None
            and stage.value is not None
            and one.value.shape == stage.value.shape
            for one in same_line
        )

    def left_as_made(self, start: int, roots: list[int]) -> Divergence:
        """Return the divergence for a constant that was not overwritten, or not everywhere."""
        line, filler = self.way.stages[start].line, self.way.stages[start].value
        expected = [t for name, t in self.expected.tensors.items() if name.startswith("result")]
        pairs = list(zip(self.way.returned, expected, strict=False))
        wrong = [(self.way.stages[at].value, t) for at, t in pairs if at in roots]
        left = filler is not None and all(
            value is not None
            and value.shape == right.shape
            and bool((value == filler.flatten()[0])[value != right].all())
            for value, right in wrong
        )
        until = max(self.way.last, line)
        return Divergence(
            line, what=LeftAsMade() if left and wrong else None, since=line, until=until
        )

    def is_to_come_back(self) -> str:
        """Return the argument that is the only right result; "" if none is."""
        passed = self.case.passed_tensors if len(self.asked) == 1 else ()
        return next((name for name, tensor in passed if same(tensor, self.asked[0])), "")

    def options(self) -> tuple[str, ...]:
        """Return the plain arguments of the case's last call, each as `name=value`."""
        last = self.case.steps[-1]
        passed = last.arguments.items() if isinstance(last, Passing) else ()
        return tuple(f"{name}={value}" for name, value in passed if not isinstance(value, dict))

    def left_unused(self) -> int | None:
        """Return the first right value that nothing uses; None if there is none.

        The attempt has this value nowhere else, and no value that right answers make from it.
        """
        left = set(self.way.unused)
        had = {
            (id(way), i)
            for at, found in enumerate(self.matches)
            for way, i in found
            if at not in left
        }
        told = [at for at in self.way.unused if self.way.stages[at].line]
        return next((at for at in told if self.is_missing(self.matches[at], had)), None)

    def has_own_name(self, at: int) -> bool:
        """Return True if the attempt names a value outside of the definitions that it calls."""
        return bool(self.way.stages[at].names) and not self.way.stages[at].inside

    def is_missing(self, matches: list[tuple[Trace, int]], had: set[tuple[int, int]]) -> bool:
        """Return True if these right values are missing elsewhere, with everything made from them.

        It is enough if one reference trace has such values and all of them are missing.
        """
        if any((id(way), at) in had for way, at in matches):
            return False
        made = [{(id(way), i) for i in made_of(way, at)} for way, at in matches]
        return any(ones and ones.isdisjoint(had) for ones in made)

    def told_unused(self, at: int) -> Divergence:
        """Return the divergence for a right value that is made and then not used."""
        name = next(iter(self.names(at)), "")
        return Divergence(self.way.stages[at].line, name, *self.reached(at), NothingIsDone())

    def right_elsewhere(self, roots: list[int]) -> Divergence | None:
        """Return the divergence if other right values were returned than asked for, or too few."""
        expected = [t for name, t in self.expected.tensors.items() if name.startswith("result")]
        if len(self.way.returned) != len(expected):
            made = all(any(self.is_right_result(at, t) for at in self.told_of) for t in expected)
            known = made and self.way.last
            return Divergence(self.way.last, what=ReturnsOtherNumber()) if known else None
        wrong = next((at for at in roots if not self.matches[at]), None)
        line = self.way.last if wrong is None else self.way.stages[wrong].line
        return Divergence(line) if line else None

    @property
    def told_of(self) -> list[int]:
        """The places of values that are known."""
        return [at for at, stage in enumerate(self.way.stages) if stage.value is not None]

    def before_error(self, line: int | None) -> Divergence | None:
        """Return the line of an error, or an earlier one that makes a value no right answer has.

        That value has right numbers in wrong places, or is used by the operation that failed.
        """
        if not line:
            return None
        lost = [at for at, passes in enumerate(self.passes) if not passes and self.counts(at)]
        if misplaced := [at for at in lost if self.is_misplaced(at)]:
            return self.in_stretch(misplaced[0], misplaced, self.told(misplaced[0]))
        cause = self.first_lost([at for at in self.way.failed if at in lost])
        if cause is None or self.way.stages[cause].line == line or not self.is_misfit(cause):
            return Divergence(line, raised=True)
        if (start := self.misfit_start(cause)) is not None:
            return Divergence(self.way.stages[start].line, what=UnknownShape())
        return self.in_stretch(cause, [cause], self.told(cause))

    def misfit_start(self, lost: int) -> int | None:
        """Return a constant of a wrong shape on the path to a value of a wrong shape."""
        if not self.is_misfit(lost):
            return None
        fillers = filter(self.is_filler, self.ancestors(lost))
        return next((at for at in fillers if self.way.stages[at].line and self.is_misfit(at)), None)

    def is_misfit(self, at: int) -> bool:
        """Return True if no right value has the shape of a value, without dimensions of size 1.

        Values that depend only on weights are not judged, because they may be combined in another
        way.
        """
        stage = self.way.stages[at]
        made_up = self.is_filler(at) or any(map(self.is_filler, self.ancestors(at)))
        if stage.value is None or not (made_up or self.is_of_arguments(at)):
            return False
        return tuple(stage.value.squeeze().shape) not in self.right.shapes

    def is_of_arguments(self, at: int) -> bool:
        """Return True if a value depends on an argument."""
        given = [tensor for _, tensor in self.case.passed_tensors]
        values = (self.way.stages[one].value for one in self.ancestors(at))
        return any(v is not None and same(v, one) for v in values for one in given)

    def is_misplaced(self, at: int) -> bool:
        """Return True if a value has the right numbers in wrong places."""
        value = self.way.stages[at].value
        return value is not None and bool(self.right.with_its_numbers(value))

    def wrong_results(self) -> list[int]:
        """Return the places of the results that differ from the expected ones."""
        returned = self.way.returned
        if len(returned) != len(self.asked):
            return list(returned)
        pairs = zip(returned, self.asked, strict=True)
        return [at for at, t in pairs if not self.is_right_result(at, t)]

    @cached_property
    def asked(self) -> list[torch.Tensor]:
        """The expected results."""
        return [t for name, t in self.expected.tensors.items() if name.startswith("result")]

    def holds_right_results(self) -> bool:
        """Return True if more was returned than asked for, and it includes all expected results."""
        known = [at for at in self.way.returned if self.way.stages[at].value is not None]
        return len(self.way.returned) > len(self.asked) > 0 and all(
            any(self.is_right_result(at, expected) for at in known) for expected in self.asked
        )

    def nothing_back(self) -> bool:
        """Return True if nothing was returned although a tensor is asked for."""
        told = [one for name, one in self.observed.values.items() if name.startswith("result")]
        other = any(one.get("type") != "NoneType" for one in told)
        return bool(self.asked) and not self.way.returned and not other and self.way.last > 0

    def is_right_result(self, at: int, expected: torch.Tensor) -> bool:
        value = self.way.stages[at].value
        return value is None or (
            value.shape == expected.shape and close(value.double(), expected.double())
        )

    def names(self, at: int) -> list[str]:
        """Return the names of a value in right answers, the most specific first.

        A name that the attempt uses too comes before all others. Arguments and weights have no
        names here.
        """
        value = self.way.stages[at].value
        if value is None or any(same(value, given) for given in self.case.tensors.values()):
            return []
        found = {name for way, i in self.matches[at] for name in way.stages[i].names}
        own = called(self.way.stages[at])
        return sorted(found, key=lambda name: (name not in own, self.right.spread[name], name))

    def has_a_right_shape(self, at: int) -> bool:
        """Return True if an equal value in right answers has this shape, also in sizes of 1."""
        value = self.way.stages[at].value
        equal = (way.stages[i].value for way, i in self.matches[at])
        return value is not None and any(v is not None and v.shape == value.shape for v in equal)

    def returned_early(self, at: int) -> Divergence:
        """Return the divergence for a right value that is returned instead of the right result."""
        name = self.names(at)[0]
        line = self.way.last or self.way.stages[at].line
        return Divergence(line, name, *self.reached(at), ReturnsEarlierValue(name))

    def reached(self, before: int) -> tuple[tuple[str, ...], int]:
        """Return the names of the right values before a place, and the line of the last of them."""
        passed = [
            at
            for at in range(before)
            if self.names(at) and self.way.stages[at].line and self.is_kept(at, before)
        ]
        names = dict.fromkeys(self.names(at)[0] for at in passed)
        upto = max((self.way.stages[at].line for at in passed), default=0)
        return tuple(names)[-MOST_REACHED:], upto

    def is_kept(self, at: int, before: int) -> bool:
        """Return True if the rest of its line leaves a right value right, as far as it is known."""
        last = self.last_of_line(at)
        return last >= before or bool(self.names(last))

    def misnamed(self, lost: int) -> int | None:
        """Return an input of a wrong value that has the name of another right value."""
        return next((at for at in self.ancestors(lost) if self.other_name(at)), None)

    def other_name(self, at: int) -> str:
        """Return the attempt's name of a right value, if right answers call another one so."""
        stage, names = self.way.stages[at], self.names(at)
        if not stage.line or not names:
            return ""
        called = ((name, self.meant(name)) for name in stage.names)
        same = [*names, *chain(*(self.names(before) for before in self.reshaped(at)))]
        return next(
            (n for n, words in called if words and not any(one.startswith(words) for one in same)),
            "",
        )

    def reshaped(self, at: int) -> list[int]:
        """Return the inputs of a value that has the same numbers in another shape."""
        value = self.way.stages[at].value
        inputs = [(one, self.way.stages[one].value) for one in self.way.stages[at].inputs]
        return [
            one
            for one, other in inputs
            if value is not None
            and other is not None
            and value.numel() == other.numel() > 1
            and torch.equal(value.flatten(), other.flatten())
        ]

    def meant(self, name: str) -> str:
        """Return the name in right answers that a local name means; "" if it is unclear.

        A single letter means a name that begins with it, if there is only one.
        """
        words = name.replace("_", " ")
        if words in self.right.spread:
            return words
        alike = {one for one in self.right.spread if one[0] == name and " " not in one}
        return name if len(alike) == 1 else ""

    def ancestors(self, at: int) -> list[int]:
        """Return all values that a value was made from, in order."""
        found, left = set[int](), [at]
        while left:
            new = set(self.way.stages[left.pop()].inputs) - found
            found |= new
            left += new
        return sorted(found)

    def told(self, lost: int) -> Divergence:
        """Return the divergence for the first wrong value."""
        stage = self.way.stages[lost]
        reached, upto = self.reached(lost)
        if names := self.names(lost):
            wrong = HoldsOtherValue(self.other_name(lost), names[0])
            return Divergence(stage.line, names[0], reached, upto, wrong)
        if stage.operation in RESHAPES and self.is_misplaced(lost) and not stage.inside:
            return Divergence(stage.line, "", reached, upto, KeepsOrder())
        if lost in self.way.returned or stage.inside:  # reported elsewhere
            return Divergence(stage.line, "", reached, upto)
        asked = self.due(lost)
        last = self.last_of_line(lost)
        for name, value in asked:
            what = self.too_high(lost, value) or instead(
                self.case, self.way.stages[last].value, value
            )
            if what:
                return Divergence(stage.line, name, reached, upto, what)
        return Divergence(stage.line, asked[0][0] if asked else "", reached, upto)

    def too_high(self, lost: int, right: torch.Tensor) -> Message | None:
        """Return a message if a value hides places with a number that is not low enough."""
        value = self.way.stages[lost].value
        found = hides(value.double(), right.double()) if value is not None else None
        return found if isinstance(found, NotLowEnough) else None

    def last_of_line(self, lost: int) -> int:
        """Return the place of the last value that the line makes from this one.

        Values in the middle of a line cannot be described.
        """
        line, last = self.way.stages[lost].line, lost
        for at in range(lost + 1, len(self.way.stages)):
            stage = self.way.stages[at]
            if stage.line == line and last in stage.inputs:
                last = at
        return last

    def due(self, lost: int) -> list[tuple[str, torch.Tensor]]:
        """Return (name, value) of the right values that may belong there, the most likely first."""
        value, inputs = self.way.stages[lost].value, self.way.stages[lost].inputs
        alike = self.right.with_its_numbers(value) if value is not None else []
        alike += self.right.multiples(value) if value is not None else []
        alike = [match for match in alike if not self.is_had(match, lost)]
        found = [(0, way, at) for way, at in alike if way.stages[at].names]
        found += [(0, way, at) for way, at in self.right.called(called(self.way.stages[lost]))]
        known = [self.matches[at] for at in inputs if self.matches[at]]
        for way in sorted(self.right.ways, key=lambda way: -sum(map(way_in(way), known))):
            both = [match for match in known if way_in(way)(match)]
            places = [max(at for other, at in match if other is way) for match in both]
            found += self.next_in(way, max(places)) if places else []
        found = [(n, way, at) for n, way, at in found if n == 0 or self.is_as_large(lost, way, at)]
        names = {name for at in range(lost) for name in self.names(at)}
        found.sort(key=lambda one: one[0])
        due = ((self.right.name(way, at), way.stages[at].value) for _, way, at in found)
        return [(n, value) for n, value in due if value is not None and n not in names]

    def is_had(self, match: tuple[Trace, int], before: int) -> bool:
        """Return True if an earlier value of the attempt is this right one."""
        way, at = match
        earlier = chain.from_iterable(self.matches[:before])
        return any(other is way and place == at for other, place in earlier)

    def is_as_large(self, lost: int, way: Trace, at: int) -> bool:
        """Return True if a right value is as large as the wrong one, or its line's last one.

        The next value in a right answer may be one that the attempt has not reached yet.
        """
        right, places = way.stages[at].value, (lost, self.last_of_line(lost))
        values = (self.way.stages[place].value for place in places)
        return right is None or any(v is None or v.numel() == right.numel() for v in values)

    def next_in(self, way: Trace, place: int) -> list[tuple[int, Trace, int]]:
        """Return the first named value that a right answer makes from the one at a place, if any.

        The first entry counts the values made from that one before it is reached.
        """
        made = {place}
        for at in range(place + 1, len(way.stages)):
            if not made.isdisjoint(way.stages[at].inputs):
                made.add(at)
                if way.stages[at].names:
                    return [(len(made), way, at)]
        return []


def called(stage: Stage) -> set[str]:
    """Return an attempt's names of a value, as words."""
    return {name.replace("_", " ") for name in stage.names}


def made_of(way: Trace, at: int) -> list[int]:
    """Return the places of the values that a trace makes directly from the one at a place."""
    return [i for i, stage in enumerate(way.stages) if at in stage.inputs]


def turned_from(way: Trace, at: int) -> set[int]:
    """Return the places of a value and of its copies with the same numbers in other places."""
    found, value = {at}, way.stages[at].value
    if value is None:
        return found
    numbers = normal(value).flatten().sort().values
    for i, stage in enumerate(way.stages):
        other = stage.value
        if other is None or other.numel() != value.numel() or len(stage.inputs) != 1:
            continue
        if stage.inputs[0] in found and close(normal(other).flatten().sort().values, numbers):
            found.add(i)
    return found


def same_size_from(way: Trace, at: int) -> set[int]:
    """Return the places of all values of the same shape that a trace makes from a value."""
    made, value = {at}, way.stages[at].value
    for i in range(at + 1, len(way.stages)):
        if not made.isdisjoint(way.stages[i].inputs):
            made.add(i)
    shape = None if value is None else value.shape
    values = ((i, way.stages[i].value) for i in made - {at})
    return {i for i, other in values if other is not None and other.shape == shape}


def way_in(way: Trace) -> Callable[[list[tuple[Trace, int]]], bool]:
    """Return a predicate that is True if a match is in a trace."""
    return lambda match: any(other is way for other, _ in match)


def instead(case: Case, value: torch.Tensor | None, right: torch.Tensor) -> Message | None:
    """Return a message on a wrong value, compared with the right one; None without a finding."""
    if value is None or not value.is_floating_point():
        return None
    value, right = value.double(), right.double()
    if what := hides(value, right):
        return what
    if bool(value.isneginf().any()) and not bool((value.isnan() | value.isposinf()).any()):
        return None  # scores with hidden places, as they should be before they become weights
    # A value of another shape may be an input of the line's result, so its rows need no certain
    # sum.
    off = sums(value, right) if value.shape != right.shape else None
    found = remarks(case, value, right, hidden=False, compared=Compared.ON_THE_WAY)
    first = next((one for one in found if one != off), None)
    return without_factor(first) if first else None


def without_factor(remark: Message) -> Message:
    """Return a remark without the number of its factor, which differs from case to case.

    A factor close to 1 is kept, because it is close to 1 in other cases too.
    """
    match remark:
        case TimesFactor(factor=float(factor)) if abs(rounded(factor) - 1) < NEARLY_ONE:
            return replace(remark, origin=None)
        case TimesFactor() | SoftmaxInputTimesFactor():
            return replace(remark, factor=None, origin=None)
        case _:
            return remark


def hides(value: torch.Tensor, right: torch.Tensor) -> Message | None:
    """Return how hidden places differ from those that should be hidden; None if they are equal."""
    if value.shape != right.shape or not bool((right < HIDDEN).any()):
        return None
    yours, asked = value < HIDDEN, right < HIDDEN
    if torch.equal(yours, asked):
        return None
    missed = value[asked & ~yours]
    filled = missed.unique()
    # A single number may be any score, and scores may be as low as hidden places.
    several = len(missed) > 1 or not yours.any()
    if several and len(filled) == 1:
        shown = bool((value[~asked] == filled[0]).any())
        return None if shown else NotLowEnough(float(filled[0]))
    if yours.any():
        return HidesOthers(where_they_differ(yours ^ asked))
    seen, other = value[~asked], right[~asked]  # if these differ, the value is no score any more
    return HidesNothing() if close(seen, other) or constant(seen, other) else None


def find_divergence(seen: Seen, way: Trace, ways: tuple[Trace, ...]) -> Divergence | None:
    """Return where an attempt diverges from right answers on a case; None if that is not known.

    seen: the case with its expected and observed results. way: the attempt's trace. ways: the
    reference traces.
    """
    compared = Comparison(seen, way, ways)
    found = compared.find_divergence()
    return replace(found, correct=compared.correct_operations()) if found else None


def divergence_sentence(diverging: Divergence, place: Callable[[int], str]) -> Sentences | None:
    """Return the message to learners; None if there is nothing to say.

    place: returns what the learner calls a line.

    >>> found = divergence_sentence(Divergence(9, "masked scores", ("keys",), 8), "line {}".format)
    >>> [type(part).__name__ for part in found.parts]
    ['RightUpTo', 'ValuesDiverge']
    """
    before = (right_up_to(diverging, place),) if diverging.reached else ()
    told = before + at_the_line(diverging, place)
    if told and diverging.reads:
        first, last = diverging.stretch
        by_line: dict[int, list[str]] = {}
        for name, line in diverging.reads:
            by_line.setdefault(line, []).append(name)
        reads = tuple(MadeAt(tuple(names), place(line)) for line, names in by_line.items())
        told += (ReadsFrom(reads, between=first != last),)
    if diverging.unused:
        told += (NothingIsDoneWith(place(diverging.unused)),)
    return Sentences(told) if told else None


def right_up_to(diverging: Divergence, place: Callable[[int], str]) -> Message:
    """Return the sentence on the right values before the first wrong one."""
    until = diverging.upto < diverging.line
    return RightUpTo(place(diverging.upto if until else diverging.line), diverging.reached, until)


def at_the_line(diverging: Divergence, place: Callable[[int], str]) -> tuple[Message, ...]:
    """Return the sentences on the line of the mistake, and on the mistake itself."""
    here, what, since = place(diverging.line), diverging.what, diverging.since
    if isinstance(what, ShouldComeBack):
        return (MakesSomethingElse(what, here, place(since)),)
    if isinstance(what, IsLast | ComesTooEarly):
        look = (LookFrom(place(since)),) if since else ()
        return (LineIs(here, what), *look)
    if isinstance(what, LeftAsMade):
        return (StillAsMade(here, what),)
    if isinstance(what, SaysAll):
        return (AtLine(here, what),)
    return where_they_diverge(diverging, place)


def where_they_diverge(diverging: Divergence, place: Callable[[int], str]) -> tuple[Message, ...]:
    """Return the sentence on the lines where the mistake may be.

    An error has already reported its own line. If there is nothing to add, there is no sentence.
    """
    due = IsDue(diverging.stage) if diverging.stage else None
    told = Clauses((due, diverging.what)) if due or diverging.what else None
    if diverging.raised and not told and not diverging.reached:
        return ()
    first, last = diverging.stretch
    if first >= last:
        return (ValuesDiverge(place(diverging.line), "", bool(diverging.reached), told),)
    return (ValuesDiverge(place(first), place(last), bool(diverging.reached), told),)
