"""The steps of a case, as data.

    construct(width=4), load({"layer.weight": weights(4, 3)}), call(rows=normal(5, 3))

Arguments are written as the attempt gets them. A drawing or a `construct` may replace a value.
"""

from typing import Any

from ...exchange.cases import Part, Planned
from ...runner.steps import (
    Call,
    Construct,
    Describe,
    Duplicate,
    Load,
    Mode,
    Move,
    Read,
    Restore,
)


def construct(name: str | None = None, /, **arguments: Any) -> Planned:
    """Make an object of the named class, or of the exercise itself if there is no name.

    given: the class is one of the course's substitutes. seed, dtype: for its first weights. The
    rest are its arguments; `named={…}` holds those whose names are also names of settings.
    """
    return Planned(Construct, name, {"dtype": "float64", "seed": 0} | arguments)


def call(target: str | Planned | None = None, /, **arguments: Any) -> Planned:
    """Call a function or an object: the object made last, or the exercise if there is none.

    gradient: compute gradients. watch: count operations. result: a name for the result.
    seed: set before the call; None continues with the random numbers of the previous call.
    path: call this part of the object. scattered: pass tensors that are not contiguous.
    no_grad: call inside `torch.no_grad()`. unkept: ignore the result.
    refilled: pass the tensor objects of the call with this result again, overwritten with the
    new numbers. constants: names of arguments that need no gradient.
    The rest are arguments of the call; `named={…}` holds those whose names are also names of
    settings, such as `gradient`.
    """
    return Planned(Call, target, {"seed": 0} | arguments)


def moved(**arguments: Any) -> Planned:
    """Move the object made last to a second device and call it there: no tensor may stay behind.

    On the `meta` device nothing is computed or returned, so the step works on every machine.
    """
    return Planned(Move, None, arguments)


def load(values: dict, on: Planned | None = None) -> Planned:
    """Copy weights into an object by their names. on: the object, if not the one made last."""
    return Planned(Load, on, {"weights": values})


def duplicate(of: Planned | None = None) -> Planned:
    """Make a deep copy of an object, or of the one made last if none is named."""
    return Planned(Duplicate, of)


def restore(source: Planned) -> Planned:
    """Load the saved state of another object into the object made last."""
    return Planned(Restore, None, {"source": source})


def read(path: str, result: str = "", on: Planned | None = None) -> Planned:
    """Record the value at an object's dotted path (`vocabulary`, `layer.weight`) under a name."""
    return Planned(Read, on, {"path": path, "result": result or path})


def mode(training: bool, on: Planned | None = None) -> Planned:
    """Switch an object to training mode, or to evaluation mode if `training` is False."""
    return Planned(Mode, on, {"training": training})


def describe(
    result: str = "module", on: Planned | None = None, state: bool = False, path: str = ""
) -> Planned:
    """Record the names of an object's parameters, buffers and submodules, with shapes and types.

    state: record the values of its parameters too. path: describe this part of the object.
    """
    return Planned(Describe, on, {"result": result, "state": state, "path": path})


def part(result: str, *path: int) -> Part:
    """Return the named result of an earlier call in the case, to be passed to a later call.

    path: indices into the result; `part("first", 1)` is the second element of a pair.
    """
    return Part(result, path)
