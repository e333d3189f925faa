"""Stages: the values that an answer passes through on a case, as asked for, read and stored.

They are asked for on cases that learners have, never on hidden ones.
"""

from dataclasses import dataclass, field, replace

import torch

from .cases import Case
from .observation import Observation
from .text import printable

MOST = 200


@dataclass(frozen=True)
class Stage:
    """A value on the way. line: of the file, 0 where none of its lines made it.

    inputs: the places of the values that it was made from. names: what it is called there.
    """

    line: int
    operation: str
    inputs: tuple[int, ...]
    names: tuple[str, ...] = ()
    value: torch.Tensor | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Way:
    """All values of one call in the order in which they came, and the places of those returned.

    last: the line of its last return, 0 where that is not known.
    """

    stages: tuple[Stage, ...] = ()
    returned: tuple[int, ...] = ()
    last: int = 0


def with_stages(case: Case) -> Case:
    """A case that asks for the values on the way too."""
    return replace(case, steps=tuple(step | {"stages": True} for step in case.steps))


def shows_stages(case: Case) -> bool:
    """Whether a case is one call that is judged by its values: then its stages tell something."""
    calls = [step for step in case.steps if step["verb"] == "call"]
    return len(calls) == 1 and case.signature == "values"


def read_way(observed: Observation) -> Way:
    """The way in an observation. It is a claim: of another form, nothing is left of it."""
    steps: list = observed.fact("stages", "steps", default=[])
    returned: list = observed.fact("stages", "returned", default=[])
    last = observed.facts.get("stages", {}).get("last")
    if not all(is_step(at, step) for at, step in enumerate(steps[:MOST])):
        return Way()
    stages = tuple(
        Stage(
            line,
            printable(operation)[:40],
            tuple(inputs),
            tuple(printable(str(name))[:40] for name in names),
            observed.tensors.get(f"stage.{at}"),
        )
        for at, (line, operation, inputs, names) in enumerate(steps[:MOST])
    )
    places = tuple(at for at in returned if isinstance(at, int) and 0 <= at < len(stages))
    return Way(stages, places, last if isinstance(last, int) and 0 < last < 10**7 else 0)


def is_step(at: int, step: object) -> bool:
    """Whether something is the `at`-th step of a way: no input comes after it."""
    if not isinstance(step, list) or len(step) != 4:
        return False
    line, operation, inputs, names = step
    return (
        isinstance(line, int)
        and 0 <= line < 10**7
        and isinstance(operation, str)
        and isinstance(names, list)
        and isinstance(inputs, list)
        and all(isinstance(place, int) and 0 <= place < at for place in inputs)
    )


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
