"""Stages and traces: the intermediate values of an answer on a case, read from its reply.

They are requested only for cases that learners have, never for hidden ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from .cases import Case
from .observation import Observation
from .text import printable

MOST, MOST_LINES = 200, 8
LINES = range(1, 10**7)  # possible numbers of a line


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


def read_trace(observed: Observation) -> Trace:
    """Return the trace in an observation; an empty one if there is none or if it is malformed."""
    told = observed.facts.get("stages", {})
    try:
        steps = told["steps"][:MOST]
        stages = tuple(
            read_stage(at, step, observed.tensors.get(f"stage.{at}"))
            for at, step in enumerate(steps)
        )
        places = range(len(stages))
        returned, failed = (numbers(told[name], places) for name in ("returned", "failed"))
        (last,) = numbers([told["last"]], range(LINES.stop))
        raised = numbers(told["raised"], LINES)[:MOST_LINES]
        return Trace(stages, returned, last, raised, failed, told["cut"] is True)
    except (KeyError, TypeError, ValueError):
        return Trace()


def read_stage(at: int, told: list, value: torch.Tensor | None) -> Stage:
    """Return the stage at a position; its inputs come before it.

    Raises TypeError or ValueError if it is malformed.
    """
    lines, operation, inputs, names = told
    if not isinstance(operation, str) or not isinstance(names, list) or len(lines) > MOST_LINES:
        raise ValueError("not a stage")
    line, *callers = numbers(lines, LINES) or (0,)
    names = tuple(printable(str(name))[:40] for name in names)
    operation, places = printable(operation)[:40], numbers(inputs, range(at))
    return Stage(line, operation, places, names, value, tuple(callers))


def numbers(told: object, among: range) -> tuple[int, ...]:
    """Return a list of integers as a tuple. Raises ValueError if one is not in the range."""
    if not isinstance(told, list) or not all(type(one) is int and one in among for one in told):
        raise ValueError("not integers in the range")
    return tuple(told)


def trace_from_json(stored: list, values: dict[str, torch.Tensor]) -> Trace:
    """Return the trace that `stored_traces` wrote, with its values by their positions."""
    rows, returned = stored
    stages = tuple(
        Stage(0, "", tuple(inputs), tuple(names), values.get(str(at)))
        for at, (inputs, names) in enumerate(rows)
    )
    return Trace(stages, tuple(returned))
