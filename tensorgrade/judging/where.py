"""Where an answer goes wrong on a public case: its first value that no right answer has.

A trace holds the values that a call computes, each with its line and the values it was made from.
The solution's trace says which values are right. Any other value is wrong only if a wrong result
was made from it; otherwise it shows another method.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import torch

from ..exchange.references import Seen
from ..exchange.traces import Stage, Trace

HIDDEN = -1e6  # entries below this are hidden places, such as -inf
CLOSE = 2e-5  # the relative difference that counts as rounding
LARGEST = 1024  # the most numbers of a value that is compared; larger right ones are not stored
MOST_REACHED = 4  # names of right values in a sentence
WRONG_ON = "Your values become wrong on"
MOST_CASES = 200  # traces (one for each case) whose prepared values are cached
FILLS = {"zeros", "ones", "full", "empty", "zero", "fill"}
COPIES = {"cat", "concat", "stack", "hstack", "vstack", "repeat", "tile", "repeat_interleave"}


@dataclass(frozen=True)
class Where:
    """The line where an answer goes wrong, and a sentence to its learner, or "".

    raised: True if it is the line of an error, which is reported already.
    """

    line: int
    said: str = ""
    raised: bool = False


class Right(NamedTuple):
    """A normal value of the solution, how far from it rounding can lead, and its names."""

    value: torch.Tensor
    room: torch.Tensor
    names: tuple[str, ...]


class RightValues:
    """The values of the solution's trace on one case, prepared for searching."""

    def __init__(self, trace: Trace):
        self.by_shape: dict[torch.Size, list[Right]] = {}
        values = [stage.value for stage in trace.stages if stage.value is not None]
        self.shapes = {value.squeeze().shape for value in values}
        self.even = {(one.shape, float(one.flatten()[0])) for one in values if is_even(one)}
        for stage in trace.stages:
            if stage.value is not None and tells(stage.value):
                value = normal(stage.value)
                right = Right(value, room_of(value), stage.names)
                self.by_shape.setdefault(value.shape, []).append(right)

    def names(self, value: torch.Tensor) -> tuple[str, ...] | None:
        """Return the names of a normal value; None if no right answer has it."""
        known = self.by_shape.get(value.shape, ())
        return next((one.names for one in known if is_close(value, one.value, one.room)), None)

    def has_slice(self, value: torch.Tensor) -> bool:
        """Return True if a value is a slice of a right one, as in loops."""
        return any(
            is_close(value, part, room_of(part))
            for shape, known in self.by_shape.items()
            if len(shape) == value.ndim + 1
            for dim in range(len(shape))
            if shape[:dim] + shape[dim + 1 :] == value.shape
            for one in known
            for part in one.value.unbind(dim)
        )


@lru_cache(maxsize=MOST_CASES)
def right_values(trace: Trace) -> RightValues:
    """Return the prepared values of a solution's trace, which serve every learner."""
    return RightValues(trace)


class Compared:
    """A trace compared with the solution's on a case. Places are indices in its stages.

    known: for each value, True if right answers have it, False if none has, and None if it is not
    reported or has equal numbers only, which say nothing. slices: True if a slice of a right value
    is right, as in a loop over it.
    """

    def __init__(self, seen: Seen, trace: Trace, reference: Trace, slices: bool = True):
        self.case, self.slices = seen.case, slices
        self.asked = [t for name, t in seen.expected.tensors.items() if name.startswith("result")]
        self.trace, self.stages, self.right = trace, trace.stages, right_values(reference)
        self.known: list[bool | None] = []
        for stage in self.stages:  # in order: copies of right values are right
            self.known.append(self.is_known(stage))

    def is_known(self, stage: Stage) -> bool | None:
        """Return an entry of `known`."""
        if stage.line == 0:
            return True
        right = self.right
        if stage.value is None or stage.value.numel() > LARGEST:
            return None
        if not (tells(stage.value) or self.is_levelled(stage)):
            return None
        value = normal(stage.value)
        if right.names(value) is not None:
            return True
        if stage.operation in COPIES and all(self.known[at] for at in stage.inputs):
            return True
        return self.slices and right.has_slice(value)

    def is_levelled(self, stage: Stage) -> bool:
        """Return True if different numbers became equal ones, as right answers never do it."""
        value = stage.value
        if value is None or not is_even(value) or not value.is_floating_point():
            return False
        inputs = [one for at in stage.inputs if (one := self.stages[at].value) is not None]
        made = any(tells(one) and value.numel() in (1, one.numel()) for one in inputs)
        is_filled = stage.operation.removesuffix("_like").rstrip("_") in FILLS
        is_right = (value.shape, float(value.flatten()[0])) in self.right.even
        return made and not is_filled and not is_right

    def first_wrong(self, places: Iterable[int]) -> int | None:
        """Return the first wrong value on the paths to these places, or None.

        A path ends at a right value.
        """
        region = self.region(places, lambda at: not self.known[at])
        return next((at for at in region if self.known[at] is False), None)

    def first_misfit(self, places: Iterable[int]) -> int | None:
        """Return the first value on the paths to these places whose shape no right value has."""
        return next(iter(self.region(filter(self.is_misfit, places), self.is_misfit)), None)

    def region(self, places: Iterable[int], holds: Callable[[int], bool]) -> list[int]:
        """Return places and those on the paths to them as long as something holds, in order."""
        left = [*places]
        region = set(left)
        while left:
            new = {at for at in self.stages[left.pop()].inputs if holds(at)} - region
            region |= new
            left += new
        return sorted(at for at in region if self.stages[at].line)

    def wrong_results(self) -> list[int]:
        """Return the places of the returned values that are not the expected ones."""
        returned = self.trace.returned
        if len(returned) != len(self.asked):
            return [*returned]
        values = [self.stages[at].value for at in returned]
        pairs = zip(returned, values, self.asked, strict=True)
        return [
            at
            for at, value, right in pairs
            if value is not None and not (value.shape == right.shape and is_same(value, right))
        ]

    def lines_of_other_values(self) -> set[int]:
        """Return the lines that compute values which the solution does not have."""
        pairs = zip(self.stages, self.known, strict=True)
        return {stage.line for stage, known in pairs if known is False}

    def holding(self, values: list[torch.Tensor]) -> int | None:
        """Return the first place where a line of the answer computes one of these values.

        The parts of a tensor that a loop runs over do not count: every loop over it has them.
        """
        own = (
            at
            for at, stage in enumerate(self.stages)
            if stage.line and not stage.inside and stage.operation != "unbind"
        )
        return next((at for at in own if is_among(self.stages[at].value, values)), None)

    def is_misfit(self, at: int) -> bool:
        """Return True if no right value has the shape of a wrong one; sizes of 1 do not count."""
        value = self.stages[at].value
        is_wrong = self.known[at] is False and value is not None
        return is_wrong and value is not None and value.squeeze().shape not in self.right.shapes

    def reached(self, before: int) -> Iterator[tuple[str, int]]:
        """Yield the names of right values that the answer computes before a place, with lines."""
        given = self.case.tensors.values()
        for stage in self.stages[:before]:
            value = stage.value
            if not stage.line or value is None or not tells(value) or is_among(value, given):
                continue
            if names := self.right.names(normal(value)):
                yield names[0], stage.line


def where_wrong(
    compared: Compared, error_line: int | None, place: Callable[[int], str]
) -> Where | None:
    """Return where an answer goes wrong on a case; None if that is not known.

    error_line: of the error that ended the case, if one did. place: what the learner calls a line.
    """
    stages = compared.stages
    if error_line:
        cause = compared.first_misfit(compared.trace.failed)
        if cause is None or stages[cause].line == error_line:
            return Where(error_line, raised=True)
        return Where(stages[cause].line, said(compared, cause, place))
    roots = compared.wrong_results()
    if (lost := compared.first_wrong(roots)) is not None:
        return Where(stages[lost].line, said(compared, lost, place))
    # The values are right. If the result is not, something is missing before it is returned.
    if not (roots or (compared.asked and not compared.trace.returned)):
        return None
    return Where(compared.trace.last, said_before(compared, len(stages), place))


def said(compared: Compared, at: int, place: Callable[[int], str]) -> str:
    """Return the sentences about the first wrong value."""
    line = place(compared.stages[at].line)
    before = said_before(compared, at, place)
    if before.startswith(f"Up to {line} "):
        return f"{before} Then, on the same line, they become wrong."
    return f"{before} Then they become wrong on {line}." if before else f"{WRONG_ON} {line}."


def said_before(compared: Compared, at: int, place: Callable[[int], str]) -> str:
    """Return the sentence about the right values before a place; "" if none has a name."""
    reached = dict(compared.reached(at))
    if not reached:
        return ""
    names = ", ".join([*reached][-MOST_REACHED:])
    return f"Up to {place(max(reached.values()))} your values are right: {names}."


def tells(value: torch.Tensor) -> bool:
    """Return True if a value has different numbers, so that it is not a constant."""
    return value.numel() > 1 and bool((value != value.flatten()[0]).any())


def is_even(value: torch.Tensor) -> bool:
    """Return True if a value holds one number, once or several times."""
    return value.numel() > 0 and not tells(value)


def normal(value: torch.Tensor) -> torch.Tensor:
    """Return a value in float64 without dimensions of size 1; hidden places become -inf."""
    value = value.double().squeeze()
    return value.masked_fill(value < HIDDEN, -torch.inf).nan_to_num(nan=7e77, neginf=-torch.inf)


def room_of(value: torch.Tensor) -> torch.Tensor:
    """Return how far another value may be from a normal one that differs by rounding only."""
    finite = value[value.isfinite()]
    return CLOSE * (finite.abs().max() if finite.numel() else torch.ones(()))


def is_close(value: torch.Tensor, other: torch.Tensor, room: torch.Tensor) -> bool:
    """Return True if two normal values of a shape are equal or so close to each other."""
    return bool(((value == other) | ((value - other).abs() <= room)).all())


def is_same(value: torch.Tensor, other: torch.Tensor) -> bool:
    """Return True if two values are equal up to rounding and dimensions of size 1."""
    value, other = normal(value), normal(other)
    return value.shape == other.shape and is_close(value, other, room_of(other))


def is_among(value: torch.Tensor | None, others: Iterable[torch.Tensor]) -> bool:
    """Return True if a value is the same as one of some others."""
    return value is not None and any(is_same(value, other) for other in others)
