"""Stages and traces: the intermediate values of an answer on a case, read from its reply.

They are requested only for cases that learners have, never for hidden ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated

import torch
from msgspec import Meta

from ..runner.wire import BadMessage
from .cases import Case
from .observation import Count, Line, Observation, decoded

MOST = 200
Lines = Annotated[tuple[Line, ...], Meta(max_length=8)]
Places = tuple[Count, ...]


@dataclass(frozen=True)
class Stage:
    """An intermediate value.

    line: the line of the file that produced it; 0 if no line of the file did.
    inputs: the positions of the values from which it was computed.
    names: the local names to which the value was bound; in a reference trace, the names for
        messages.
    value: a copy of the value; None if it is too large or was not reported.
    callers: the lines that called the producing code, the innermost first.
    inside: True if the line only calls the code that produced the value.
    """

    line: int
    operation: str
    inputs: tuple[int, ...]
    names: tuple[str, ...] = ()
    value: torch.Tensor | None = field(default=None, repr=False)
    callers: tuple[int, ...] = ()
    inside: bool = False


@dataclass(frozen=True)
class Trace:
    """The trace of one call: its values in order, and the positions of the returned ones.

    last: the line of its last return; 0 if that is unknown.
    raised: the lines through which an error passed, the innermost first.
    failed: the positions of the inputs of the operation that raised the error, if one did.
    cut: True if there were more values than are reported.
    """

    stages: tuple[Stage, ...] = ()
    returned: tuple[int, ...] = ()
    last: int = 0
    raised: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    cut: bool = False

    def attributed_to(self, is_own: Callable[[int], bool]) -> "Trace":
        """Return a copy that attributes values to the learner's own lines.

        If another line produced a value, the learner's line that called it counts instead.
        """
        stages = []
        for stage in self.stages:
            line = next(filter(is_own, (stage.line, *stage.callers)), 0)
            stages.append(replace(stage, line=line, inside=0 != line != stage.line))
        return replace(self, stages=tuple(stages), raised=tuple(filter(is_own, self.raised)))


def with_stages(case: Case) -> Case:
    """Return a copy of a case that also requests the intermediate values."""
    return replace(case, steps=tuple(replace(step, stages=True) for step in case.steps))


@dataclass(frozen=True)
class Told:
    """A trace as a reply has it; each step has its lines, its operation, its inputs and names."""

    steps: Annotated[tuple[tuple[Lines, str, Places, tuple[str, ...]], ...], Meta(max_length=MOST)]
    returned: Places
    failed: Places
    raised: Lines
    last: Count
    cut: bool


def read_trace(observed: Observation) -> Trace:
    """Return the trace in an observation; an empty one if there is none or if it is malformed."""
    try:
        told = decoded(observed.facts.get("stages"), Told)
    except BadMessage:
        return Trace()
    count = len(told.steps)
    later = (place >= at for at, (_, _, inputs, _) in enumerate(told.steps) for place in inputs)
    if any(later) or any(place >= count for place in (*told.returned, *told.failed)):
        return Trace()
    stages = []
    for at, (lines, operation, inputs, names) in enumerate(told.steps):
        line, *callers = lines or (0,)
        value = observed.tensors.get(f"stage.{at}")
        stages.append(Stage(line, operation, inputs, names, value, tuple(callers)))
    return Trace(tuple(stages), told.returned, told.last, told.raised, told.failed, told.cut)
