"""The steps of a case, as data.

    construct(width=4), load({"layer.weight": weights(4, 3)}), call(rows=normal(5, 3))

Arguments are written as the attempt gets them. A drawing or a `construct` may replace a value.
"""

from typing import Any

from ...exchange.cases import Part
from ...runner.step import Step


def construct(name: str | None = None, /, **arguments: Any) -> Step:
    """Make an object of the named class, or of the exercise itself if there is no name.

    given: the class is one of the course's substitutes. seed, dtype: for its first weights. The
    rest are its arguments; `named={…}` holds those whose names are also names of settings.
    """
    return Step("construct", name or "", arguments={"dtype": "float64", "seed": 0} | arguments)


def call(target: str | Step | None = None, /, **arguments: Any) -> Step:
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
    given = {"seed": 0} | arguments
    if isinstance(target, Step):
        return Step("call", on=target, arguments=given)
    return Step("call", target or "", arguments=given)


def moved(**arguments: Any) -> Step:
    """Move the object made last to a second device and call it there: no tensor may stay behind.

    On the `meta` device nothing is computed or returned, so the step works on every machine.
    """
    return Step("move", arguments=arguments)


def load(values: dict, on: Step | None = None) -> Step:
    """Copy weights into an object by their names. on: the object, if not the one made last."""
    return Step("load", on=on, arguments={"weights": values})


def duplicate(of: Step | None = None) -> Step:
    """Make a deep copy of an object, or of the one made last if none is named."""
    return Step("duplicate", on=of)


def restore(source: Step) -> Step:
    """Load the saved state of another object into the object made last."""
    return Step("restore", arguments={"source": source})


def read(path: str, result: str = "", on: Step | None = None) -> Step:
    """Record the value at an object's dotted path (`vocabulary`, `layer.weight`) under a name."""
    return Step("read", on=on, arguments={"path": path, "result": result or path})


def mode(training: bool, on: Step | None = None) -> Step:
    """Switch an object to training mode, or to evaluation mode if `training` is False."""
    return Step("mode", on=on, arguments={"training": training})


def describe(
    result: str = "module", on: Step | None = None, state: bool = False, path: str = ""
) -> Step:
    """Record the names of an object's parameters, buffers and submodules, with shapes and types.

    state: record the values of its parameters too. path: describe this part of the object.
    """
    return Step("describe", on=on, arguments={"result": result, "state": state, "path": path})


def part(result: str, *path: int) -> Part:
    """Return the named result of an earlier call in the case, to be passed to a later call.

    path: indices into the result; `part("first", 1)` is the second element of a pair.
    """
    return Part(result, path)
