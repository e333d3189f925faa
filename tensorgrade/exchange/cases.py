"""Cases: the tasks for an attempt, as steps and tensors.

An author writes a case once (`tensorgrade.author`), with numbers that are still to be drawn.
`record` draws them and turns the case into steps (runner/steps.py). The same steps then run on the
solution (the reference), on each mistake (its fingerprint) and on each learner's attempt.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from ..course import CourseError
from ..runner.step import Step
from ..runner.values import Packer, Tree
from ..runner.wire import pack
from .text import short
from .values import kind, shown, sized, unjudged

LONGEST_ARGUMENT = 60
# By verb, an author's keywords that are no arguments. For other verbs that is all of them.
SETTINGS = {
    "construct": {"given", "dtype", "seed"},
    "move": {"result"},
    "call": {"path", "result", "seed", "gradient", "constants", "scattered", "refilled", "watch"}
    | {"no_grad", "unkept"},
}
RESULTS = {"describe": "module", "move": "moved", "call": "result"}  # names, unless an author's own
MAKERS = ("construct", "duplicate")  # verbs that make an object, which later steps may use


@dataclass(frozen=True)
class Case:
    """Seeded inputs and weights, and the steps to take with them.

    name: `group/which`; tests ask for groups.
    shown: True if learners see the case's values.
    signature: how the case distinguishes mistakes: by `values`, by the behaviour of `dropout`, or
        by another name in recognition/signatures.py or in the course's checks.py. If the
        course's name begins with `values`, all right answers give the expected values.
    rate: the argument with the dropout rate.
    parts: the argument with the number of equal parts in the last dimension. `rate` and `parts` are
        set only if the signature or a check needs them.
    """

    exercise: str
    name: str
    steps: tuple[Step, ...]
    tensors: dict[str, torch.Tensor] = field(repr=False)
    shown: bool = False
    signature: str = "values"
    rate: str = ""
    parts: str = ""

    @cached_property
    def group(self) -> str:
        """Return the group of the case, such as `values` for `values/3`."""
        return self.name.split("/")[0]

    @cached_property
    def request(self) -> dict[str, Any]:
        """Return the request to run the case. It holds inputs, but no answer.

        Its number is random, so learner code cannot write a reply before the request arrives.
        """
        steps = [step.encode() for step in self.steps]
        return {"do": "run", "id": str(secrets.randbits(64)), "steps": steps}

    @cached_property
    def message(self) -> bytes:
        """Return the packed request. Packing a chapter's anew takes 8 % of a submission's time."""
        return pack(self.request, self.tensors)

    @property
    def has_right_values(self) -> bool:
        """Return True if all right answers give the same values, so that these can be compared."""
        return self.signature.split()[:1] == ["values"]

    @property
    def passed(self) -> list[tuple[str, Tree]]:
        """Return the names and values of the arguments of all steps."""
        return [item for step in self.steps for item in step.arguments.items()]

    @property
    def passed_tensors(self) -> list[tuple[str, torch.Tensor]]:
        """Return the names and values of the arguments that are tensors."""
        keys = [(name, v["tensor"]) for name, v in self.passed if kind(v) == "tensor"]
        return [(name, self.tensors[key]) for name, key in keys]

    @property
    def weights(self) -> dict[str, str]:
        """Return the key in `tensors` of each weight to copy in, by the parameter's name."""
        loads = (step.options["weights"] for step in self.steps if step.verb == "load")
        return {name: key for weights in loads for name, key in weights.items()}

    @property
    def calls(self) -> list[Step]:
        """Return the calls among the steps."""
        return [step for step in self.steps if step.verb == "call"]

    def asked(self, argument: str) -> Any:
        """Return the value of an argument in the first step that has it.

        Raises CourseError if no step has it.
        """
        for name, value in self.passed:
            if name == argument:
                return value
        raise CourseError(f"{self.id}: no step has the argument {argument!r}")

    @property
    def id(self) -> str:
        """Return an identifier that is unique within the chapter."""
        return f"{self.exercise}:{self.name}"


@dataclass(frozen=True)
class Part:
    """A reference to the result of an earlier call of the case, or to a part of it.

    As an argument it passes the attempt's own result, so it reveals nothing of the reference.
    """

    result: str
    path: tuple[int, ...] = ()

    @property
    def handle(self) -> str:
        """Return its name in messages, such as `first.1` for the second part of `first`."""
        return ".".join(map(str, (self.result, *self.path)))


class CaseWriter:
    """A writer of the steps of one case, which refer to tensors and objects by name.

    value: returns an author's value with its random numbers drawn.
    seeds: turns an author's seed into the seed set in the attempt's process. Learner code can read
    that seed, so on hidden cases it is derived from the course's seed and reveals nothing about it.
    """

    def __init__(self, exercise: str, value: Callable[[Any], Any], seeds: Callable[[int], int]):
        self.exercise, self.value, self.seeds = exercise, value, seeds
        self.steps: list[Step] = []
        self.tensors: dict[str, torch.Tensor] = {}
        self.objects: dict[int, str] = {}  # names of objects, by the id() of the step that makes it

    def write(self, written: Step) -> None:
        """Add a step as an author writes it, with its settings among the arguments.

        The argument `named` has arguments whose names are those of settings. Raises CourseError if
        the step cannot be sent.
        """
        verb, target = written.verb, self.target(written)
        drawn = {name: self.value(value) for name, value in written.arguments.items()}
        named, known = drawn.pop("named", {}), SETTINGS.get(verb) or set(drawn)
        options = {name: drawn.pop(name) for name in [*drawn] if name in known}
        path, result = options.pop("path", ""), options.pop("result", RESULTS.get(verb, ""))
        if verb in MAKERS:
            made = sum(step.verb in MAKERS for step in self.steps)
            result = self.objects[id(written)] = f"object{made}"
        step = Step(verb, path=path, result=result, **target)
        options = {name: self.option(name, value, step) for name, value in options.items()}
        arguments = {name: self.spell(name, value) for name, value in (drawn | named).items()}
        self.steps.append(replace(step, options=options, arguments=arguments))

    def target(self, written: Step) -> dict[str, Any]:
        """Return a step's target: by default the object made last, otherwise the exercise."""
        if written.on:
            return {"on": self.objects[id(written.on)]}
        about_exercise = written.verb == "construct" or (
            written.verb == "call" and not self.objects
        )
        if written.name or about_exercise:
            return {"name": written.name or self.exercise}
        if not self.objects:
            raise CourseError(f"`{written.verb}` is about an object, and none is made yet")
        return {"on": [*self.objects.values()][-1]}

    def option(self, name: str, value: Any, step: Step) -> Any:
        """Return the stored form of a step's option."""
        match name:
            case "seed":
                return None if value is None else self.seeds(value)
            case "gradient" if value is not None:
                if not isinstance(value, tuple):
                    return [self.keep(f"{step.result}.gradient", value)]
                names = (f"{step.result}.gradient.{number}" for number in range(len(value)))
                return list(map(self.keep, names, value))
            case "weights":
                place = f"{step.on}.{len(self.steps)}"  # weights may be loaded twice
                return {key: self.keep(f"{place}.{key}", part) for key, part in value.items()}
            case "source":
                return self.objects[id(value)]
            case "constants":
                return list(value)
        return value

    def spell(self, name: str, value: object) -> Tree:
        """Return the stored form of an argument, with tensors and objects by name."""
        packer = Packer(lambda place, held: {"tensor": self.keep(place, held)}, self.handle_of)
        tree = packer.pack(value, f"{len(self.steps)}.{name}")
        place, what = next(unjudged(tree, name), ("", ""))
        if what:
            raise CourseError(f"{place} is {what}, which cannot be passed to learner code")
        return tree

    def handle_of(self, value: object) -> Tree | None:
        """Return a reference to an object that an earlier step makes; None for other values."""
        if isinstance(value, Step):
            return {"object": self.objects[id(value)]}
        return {"object": value.handle} if isinstance(value, Part) else None

    def keep(self, key: str, value: torch.Tensor) -> str:
        """Store a tensor under a name."""
        self.tensors[key] = value
        return key


def record(
    exercise: str,
    name: str,
    steps: Sequence[Step],
    value: Callable[[Any], Any] = lambda value: value,
    seeds: Callable[[int], int] = int,
    **settings: Any,
) -> Case:
    """Return the case with these steps. Raises CourseError.

    value, seeds: see CaseWriter. settings: the other fields of Case.
    """
    writer = CaseWriter(exercise, value, seeds)
    try:
        for written in steps:
            writer.write(written)
    except CourseError as error:
        raise CourseError(f"{exercise}, case {name}: {error}") from None
    return Case(exercise, name, tuple(writer.steps), writer.tensors, **settings)


def spoken(case: Case, hidden: bool = True) -> str:
    """Describe the calls of a case in one line, with shapes.

    hidden: show only the sizes of texts and lists.

    >>> asked = Step("call", arguments={"x": torch.ones(2, 3), "dim": 1})
    >>> spoken(record("mean", "a/1", [asked]))
    'mean(x: (2, 3), dim=1)'
    """
    said = (spoken_step(case, step, hidden) for step in case.steps)
    return ", then ".join(filter(None, said))


def spoken_step(case: Case, step: Step, hidden: bool) -> str:
    """Describe a step in words; empty if that says nothing to a learner."""
    arguments = ", ".join(f"{k}{spoken_value(case, v, hidden)}" for k, v in step.arguments.items())
    match step.verb:
        case "construct":
            made = passed_as(case, step.result)
            return f"{made} = {step.name}({arguments})" if made else f"{step.name}({arguments})"
        case "mode":
            return ".train()" if step.options["training"] else ".eval()"
        case "move":
            return f"its forward({arguments}) on another device"
        case "call":
            called = step.name or (f".{step.path}" if step.path else "its forward")
            return f"{called}({arguments})"
    return ""


def passed_as(case: Case, handle: str) -> str:
    """Return the name of the argument that receives an object; empty if none does."""
    return next((name for name, value in case.passed if value == {"object": handle}), "")


def spoken_value(case: Case, value: Tree, hidden: bool) -> str:
    """Return the text after an argument's name, such as `: (2, 3)` or `=1`; "" for an object."""
    if kind(value) == "tensor":
        return ": " + spoken_shape(case.tensors[value["tensor"]].shape)
    if kind(value) == "object":
        return ""
    if hidden and kind(value) not in ("none", "bool", "number"):
        return f": {sized(value)}"
    return f"={short(shown(value), LONGEST_ARGUMENT)}"


def spoken_shape(shape: Sequence[int]) -> str:
    """Return a shape such as `(2, 6, 3)`, as Python and docstrings write it, or `a single number`.

    >>> spoken_shape((2, 3)), spoken_shape((4,)), spoken_shape(())
    ('(2, 3)', '(4,)', 'a single number')
    """
    return str(tuple(shape)) if len(shape) else "a single number"
