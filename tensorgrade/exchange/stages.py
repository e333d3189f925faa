"""Stages: the values that an answer passes through on a case, as asked for, read and stored.

They are asked for on cases that learners have, never on hidden ones.
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
    """A value on the way. line: of the file, 0 where none of its lines made it.

    inputs: the places of the values that it was made from. names: what it is called there. callers:
    the lines that called what made it, the innermost first. inside: whether the line is one that
    only calls what made it.
    """

    line: int
    operation: str
    inputs: tuple[int, ...]
    names: tuple[str, ...] = ()
    value: torch.Tensor | None = field(default=None, repr=False)
    callers: tuple[int, ...] = ()
    inside: bool = False


@dataclass(frozen=True)
class Way:
    """All values of one call in the order in which they came, and the places of those returned.

    last: the line of its last return, 0 where that is not known. raised: the lines that an error
    came through, the innermost first. failed: the places of what went into the operation that
    raised it, if one did. unused: those of values that nothing was done with. cut: whether more
    came than are told of.
    """

    stages: tuple[Stage, ...] = ()
    returned: tuple[int, ...] = ()
    last: int = 0
    raised: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    unused: tuple[int, ...] = ()
    cut: bool = False

    def told_in(self, is_own: Callable[[int], bool]) -> "Way":
        """The same, where what other lines make counts as made by the own line that calls them."""
        stages = []
        for stage in self.stages:
            line = next(filter(is_own, (stage.line, *stage.callers)), 0)
            stages.append(replace(stage, line=line, inside=0 != line != stage.line))
        return replace(self, stages=tuple(stages), raised=tuple(filter(is_own, self.raised)))


def with_stages(case: Case) -> Case:
    """A case that asks for the values on the way too."""
    return replace(case, steps=tuple(replace(step, stages=True) for step in case.steps))


def shows_stages(case: Case) -> bool:
    """Whether a case is one call that is judged by its values: then its stages tell something."""
    return len(case.calls) == 1 and case.signature == "values"


def read_way(observed: Observation) -> Way:
    """The way in an observation. It is a claim: of another form, nothing is left of it."""
    steps: list = observed.fact("stages", "steps", default=[])
    last = observed.facts.get("stages", {}).get("last")
    if not all(is_step(at, step) for at, step in enumerate(steps[:MOST])):
        return Way()
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
    return Way(stages, back, end, through, failed, unused, cut)


def is_step(at: int, step: object) -> bool:
    """Whether something is the `at`-th step of a way: no input comes after it."""
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
    """Whether something can be the number of a line."""
    return isinstance(number, int) and 0 < number < 10**7


def stages_to_json(way: Way) -> list:
    """Of a way what was made from what, and names. No line and no operation of a right answer."""
    return [[[list(s.inputs), list(s.names)] for s in way.stages], list(way.returned)]


def way_from_json(stored: list, values: dict[str, torch.Tensor]) -> Way:
    """What `stages_to_json` wrote, with its values by their places."""
    rows, returned = stored
    stages = tuple(
        Stage(0, "", tuple(inputs), tuple(names), values.get(str(at)))
        for at, (inputs, names) in enumerate(rows)
    )
    return Way(stages, tuple(returned))
