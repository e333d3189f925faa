"""Stages and traces: the intermediate values of an answer on a case, read from its reply.

They are requested only for cases that learners have, never for hidden ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeGuard

import torch

from .cases import Case
from .observation import Observation
from .text import printable

MOST, MOST_LINES = 200, 8


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
    unused: the positions of values that were never used.
    cut: True if there were more values than are reported.
    """

    stages: tuple[Stage, ...] = ()
    returned: tuple[int, ...] = ()
    last: int = 0
    raised: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()
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


def read_trace(observed: Observation) -> Trace:
    """Return the trace in an observation; an empty one if the report is malformed."""
    steps: list = observed.fact("stages", "steps", default=[])
    last = observed.facts.get("stages", {}).get("last")
    if not all(is_step(at, step) for at, step in enumerate(steps[:MOST])):
        return Trace()
    stages = tuple(
        Stage(
            next(iter(lines), 0),
            printable(operation)[:40],
            tuple(inputs),
            tuple(printable(str(name))[:40] for name in names),
            observed.tensors.get(f"stage.{at}"),
            tuple(lines[1:]),
        )
        for at, (lines, operation, inputs, names) in enumerate(steps[:MOST])
    )

    def places(what: str) -> tuple[int, ...]:
        told: list = observed.fact("stages", what, default=[])
        return tuple(at for at in told if isinstance(at, int) and 0 <= at < len(stages))

    raised: list = observed.fact("stages", "raised", default=[])
    through = tuple(raised[:MOST_LINES]) if all(map(is_line, raised)) else ()
    end = last if is_line(last) else 0
    back, failed, unused = map(places, ("returned", "failed", "unused"))
    cut = observed.facts.get("stages", {}).get("cut") is True
    return Trace(stages, back, end, through, failed, unused, cut)


def is_step(at: int, step: object) -> bool:
    """Return True if the argument is a valid step at this position: no input comes after it."""
    if not isinstance(step, list) or len(step) != 4:
        return False
    lines, operation, inputs, names = step
    return (
        isinstance(lines, list)
        and len(lines) <= MOST_LINES
        and all(map(is_line, lines))
        and isinstance(operation, str)
        and isinstance(names, list)
        and isinstance(inputs, list)
        and all(isinstance(place, int) and 0 <= place < at for place in inputs)
    )


def is_line(number: object) -> TypeGuard[int]:
    """Return True if the argument can be a line number."""
    return isinstance(number, int) and 0 < number < 10**7


def trace_from_json(stored: list, values: dict[str, torch.Tensor]) -> Trace:
    """Return the trace that `stored_traces` wrote, with its values by their positions."""
    rows, returned = stored
    stages = tuple(
        Stage(0, "", tuple(inputs), tuple(names), values.get(str(at)))
        for at, (inputs, names) in enumerate(rows)
    )
    return Trace(stages, tuple(returned))
