"""The steps of a case, as data: make an object, load weights, call, read, switch, move, describe.

    construct(width=4), load({"layer.weight": weights(4, 3)}), call(rows=normal(5, 3))

Arguments are written as the attempt gets them; a drawing or a `construct` may stand for a value.
"""

from typing import Any

from ...exchange.cases import Part, Planned
from ...runner.verbs import (
    Call,
    Construct,
    Describe,
    Duplicate,
    Gradients,
    Load,
    Mode,
    Move,
    Read,
    Restore,
)


def construct(name: str | None = None, /, **arguments: Any) -> Planned:
    """Make an object of a class: of the exercise itself where no name is given.

    given: of one of the stand-ins. seed, dtype: of its first weights. The rest are its arguments;
    `named={…}` holds those that have the name of a setting.
    """
    return Planned(Construct, name, {"dtype": "float64", "seed": 0} | arguments)


def call(target: str | Planned | None = None, /, **arguments: Any) -> Planned:
    """Call a function or an object: the object made last, or the exercise where there is none.

    gradient: asks for gradients. watch: counts operations. result: a name for what comes back.
    seed: set before; None goes on with the random numbers of the call before. path: of a part of
    the object. scattered: tensors do not lie contiguously. no_grad: inside `torch.no_grad()`.
    unkept: what comes back is of no interest. refilled: tensors are the very objects that the call
    with this result was given, with these numbers written into them.
    constants: names of arguments that need no gradient. printed: a name for what is printed.
    afterwards: arguments that are kept as they are after the call. The rest are arguments of it;
    `named={…}` holds those that have the name of a setting, such as `gradient`.
    """
    return Planned(Call, target, {"seed": 0} | arguments)


def moved(**arguments: Any) -> Planned:
    """Move the object made last to a second device, and call it there: nothing may stay behind.

    On `meta` nothing is computed and nothing comes back, so every machine has it.
    """
    return Planned(Move, None, arguments)


def load(values: dict, on: Planned | None = None, beside: str = "") -> Planned:
    """Copy weights in by their names; `on` says into which object, if not the one made last.

    beside: the name of a file that is handed in; what is in it is copied in before.
    """
    return Planned(Load, on, {"weights": values, "beside": beside})


def duplicate(of: Planned | None = None) -> Planned:
    """Make a deep copy of an object, of the one made last if none is named."""
    return Planned(Duplicate, of)


def restore(source: Planned) -> Planned:
    """Load into the object made last the state that another one saves."""
    return Planned(Restore, None, {"source": source})


def read(path: str, result: str = "", on: Planned | None = None) -> Planned:
    """Keep what an object holds at a dotted path (`vocabulary`, `layer.weight`), by a name."""
    return Planned(Read, on, {"path": path, "result": result or path})


def gradients(result: str = "grad", on: Planned | None = None, path: str = "") -> Planned:
    """Keep the gradients that an object's parameters hold, after a step that filled them in."""
    return Planned(Gradients, on, {"result": result, "path": path})


def mode(training: bool, on: Planned | None = None) -> Planned:
    """Switch an object between training and evaluation."""
    return Planned(Mode, on, {"training": training})


def describe(
    result: str = "module", on: Planned | None = None, state: bool = False, path: str = ""
) -> Planned:
    """Ask what an object is made of; with `state`, its parameters' values too."""
    return Planned(Describe, on, {"result": result, "state": state, "path": path})


def part(result: str, *path: int) -> Part:
    """What an earlier call of the case gave under a name, as an argument of one that follows.

    path: which part of it; `part("first", 1)` is the second of a pair.
    """
    return Part(result, path)
