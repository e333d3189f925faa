"""The steps of a case, as data: make an object, load weights, call, read, switch, move, describe.

    construct(width=4), load({"layer.weight": weights(4, 3)}), call(rows=normal(5, 3))

Arguments are written as the attempt gets them; a drawing or a `construct` may stand for a value.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...exchange.cases import Draw, Part, RecordedObject, Recorder
from .drawings import Drawn

# What stands for steps that data cannot say: a function of an attempt and of numbers to draw.
Write = Callable[[Recorder, Draw], None]


SETTINGS = frozenset(
    "gradient watch result seed path scattered refilled constants printed afterwards no_grad "
    "unkept given dtype".split()
)


@dataclass(frozen=True, eq=False)
class Step:
    """One thing to ask of an attempt. target: a name, the `construct` of an object, or None."""

    verb: str
    target: "str | Step | None" = None
    arguments: dict = field(default_factory=dict)


def construct(name: str | None = None, /, **arguments: Any) -> Step:
    """Make an object of a class: of the exercise itself where no name is given.

    given: of one of the stand-ins. seed, dtype: of its first weights. The rest are its arguments;
    `named={…}` holds those that have the name of a setting.
    """
    return Step("construct", name, arguments)


def call(target: str | Step | None = None, /, **arguments: Any) -> Step:
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
    return Step("call", target, arguments)


def moved(**arguments: Any) -> Step:
    """Move the object made last to a second device, and call it there: nothing may stay behind.

    On `meta` nothing is computed and nothing comes back, so every machine has it.
    """
    return Step("move", None, arguments)


def load(values: dict, on: Step | None = None, beside: str = "") -> Step:
    """Copy weights in by their names; `on` says into which object, if not the one made last.

    beside: the name of a file that is handed in; what is in it is copied in before.
    """
    return Step("load", on, {"weights": values} | ({"beside": beside} if beside else {}))


def duplicate(of: Step | None = None) -> Step:
    """Make a deep copy of an object, of the one made last if none is named."""
    return Step("duplicate", of)


def restore(source: Step) -> Step:
    """Load into the object made last the state that another one saves."""
    return Step("restore", None, {"source": source})


def read(path: str, result: str = "", on: Step | None = None) -> Step:
    """Keep what an object holds at a dotted path (`vocabulary`, `layer.weight`), by a name."""
    return Step("read", on, {"path": path, "result": result})


def gradients(result: str = "grad", on: Step | None = None, path: str = "") -> Step:
    """Keep the gradients that an object's parameters hold, after a step that filled them in."""
    return Step("gradients", on, {"result": result, "path": path})


def mode(training: bool, on: Step | None = None) -> Step:
    """Switch an object between training and evaluation."""
    return Step("mode", on, {"training": training})


def describe(result: str = "module", on: Step | None = None, **settings: Any) -> Step:
    """Ask what an object is made of; with `state`, its parameters' values too."""
    return Step("describe", on, {"result": result, **settings})


def part(result: str, *path: int) -> Part:
    """What an earlier call of the case gave under a name, as an argument of one that follows.

    path: which part of it; `part("first", 1)` is the second of a pair.
    """
    return Part(result, path)


class Writer:
    """Carries out the steps of one case on a recorder."""

    def __init__(self, exercise: str, recorder: Recorder, draw: Draw):
        self.exercise, self.recorder, self.draw = exercise, recorder, draw
        self.drawn = Drawn(draw)
        self.objects: dict[Step, RecordedObject] = {}

    def take(self, step: Step | Write) -> None:
        """One step; a function of (attempt, draw) may stand for several that data cannot say."""
        if not isinstance(step, Step):
            step(self.recorder, self.draw)
            return
        arguments = {key: self.value(value) for key, value in step.arguments.items()}
        name = step.target if isinstance(step.target, str) else self.exercise
        if step.verb == "construct":
            self.objects[step] = self.recorder.construct(name, **arguments)
        elif step.verb == "duplicate":
            self.objects[step] = self.target(step).duplicate()
        elif isinstance(step.target, str) or not self.objects:
            self.recorder.call(name, **arguments)
        else:
            getattr(self.target(step), step.verb)(**arguments)

    def value(self, value: Any) -> Any:
        """What is handed over for an argument, or for a part of one."""
        if isinstance(value, Step):
            return self.objects[value]
        if type(value) in (list, tuple):
            return type(value)(map(self.value, value))
        if type(value) is dict:
            return {key: self.value(part) for key, part in value.items()}
        return self.drawn.value(value)

    def target(self, step: Step) -> RecordedObject:
        """The object that a step is about."""
        made = step.target if isinstance(step.target, Step) else list(self.objects)[-1]
        return self.objects[made]
