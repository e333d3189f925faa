"""Cases: what an attempt is asked to do, as steps and tensors.

A case is written once (`tensorgrade.author`), with numbers that are still to be drawn. `record`
draws them and turns what is written into steps (runner/verbs.py). The same steps then run on the
solution (the reference), on every mistake (its fingerprint) and on every learner's attempt.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypedDict, Unpack

import torch

from ..course import CourseError
from ..runner.case_runner import Step
from ..runner.values import Packer, Tree
from ..runner.verbs import Call, Construct, Duplicate, Load, Move, Passing
from .text import short
from .values import kind, shown, sized, unjudged

LONGEST_ARGUMENT = 60


@dataclass(frozen=True)
class Case:
    """Seeded inputs and weights, and the steps to take with them.

    name: `group/which`; tests ask for groups. shown: learners see its values.
    signature: how mistakes are told apart on it: by `values`, by how `dropout` behaves, or by
    another name in recognition/signatures.py or in the course's checks.py.
    rate: which argument is the dropout rate. parts: which argument says into how many equal parts
    the last dimension falls. Both only where the signature or a check asks for them.
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
        """`values` for `values/3`."""
        return self.name.split("/")[0]

    @property
    def passed(self) -> list[tuple[str, Tree]]:
        """The names and values of the arguments of all steps."""
        asking = (step for step in self.steps if isinstance(step, Passing))
        return [item for step in asking for item in step.arguments.items()]

    @property
    def passed_tensors(self) -> list[tuple[str, torch.Tensor]]:
        """The same of the arguments that are tensors."""
        keys = [(name, v["tensor"]) for name, v in self.passed if kind(v) == "tensor"]
        return [(name, self.tensors[key]) for name, key in keys]

    @property
    def weights(self) -> dict[str, str]:
        """The weights that are copied in: by their names, those of their tensors."""
        loads = (step for step in self.steps if isinstance(step, Load))
        return {name: key for step in loads for name, key in step.weights.items()}

    @property
    def calls(self) -> list[Call]:
        """The calls among the steps."""
        return [step for step in self.steps if isinstance(step, Call)]

    def asked(self, argument: str) -> Any:
        """The value that the first step with that argument passes for it. Raises CourseError."""
        for name, value in self.passed:
            if name == argument:
                return value
        raise CourseError(f"{self.id}: no step has the argument {argument!r}")

    @property
    def id(self) -> str:
        """Unlike any other case's of the chapter."""
        return f"{self.exercise}:{self.name}"


class CaseSettings(TypedDict, total=False):
    """What an author may say of a case beside its steps; Case says what each means."""

    shown: bool
    signature: str
    rate: str
    parts: str


class Draw:
    """Seeded numbers for cases. float64 unless asked otherwise; the same on every platform.

    >>> Draw(1).normal(2).shape, Draw(1).weights(3, 2).abs().min() > 0.5
    (torch.Size([2]), tensor(True))
    """

    def __init__(self, seed: int, dtype: torch.dtype = torch.float64):
        self.generator, self.dtype = torch.Generator().manual_seed(seed), dtype

    def normal(self, *shape: int) -> torch.Tensor:
        """Standard normal numbers."""
        drawn = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return drawn.to(self.dtype)

    def weights(self, *shape: int) -> torch.Tensor:
        """Numbers of about ±0.8: none near zero, so that every wrong scale shows."""
        size = 0.6 + 0.4 * torch.rand(*shape, generator=self.generator, dtype=torch.float64)
        signs = torch.rand(*shape, generator=self.generator, dtype=torch.float64) < 0.5
        return torch.where(signs, -size, size).to(self.dtype)


@dataclass(frozen=True, eq=False)
class Planned:
    """A step as it is written: its values may still be drawn.

    target: a name, the step that makes an object, or None. given: settings and arguments, in the
    order in which they stand; `named` holds arguments that have the name of a setting.
    """

    verb: type[Step]
    target: "str | Planned | None" = None
    given: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """What an earlier call of the case gave under a name, or a part of it: an argument of a call.

    It never leaves the attempt's process, so nothing of the reference is in it.
    """

    result: str
    path: tuple[int, ...] = ()

    @property
    def handle(self) -> str:
        """How it is called on the wire: `first.1` for the second part of `first`."""
        return ".".join(map(str, (self.result, *self.path)))


# What of a step that passes arguments is no argument.
SETTINGS: dict[type[Step], tuple[str, ...]] = {
    Construct: ("given", "dtype", "seed"),
    Call: (
        *("gradient", "watch", "result", "seed", "path", "scattered", "refilled", "constants"),
        *("printed", "afterwards", "no_grad", "unkept"),
    ),
    Move: ("result",),
}


class CaseWriter:
    """Writes the steps of one case; tensors and objects stand in them by name.

    value: makes what is still to be drawn. seeds: what is set in the attempt's process where an
    author writes a seed. Learner code can read it there, so on hidden cases it is another number,
    from which nothing else follows.
    """

    def __init__(self, exercise: str, value: Callable[[Any], Any], seeds: Callable[[int], int]):
        self.exercise, self.value, self.seeds = exercise, value, seeds
        self.steps: list[Step] = []
        self.tensors: dict[str, torch.Tensor] = {}
        self.objects: dict[Planned, str] = {}  # what their makers are called on the wire

    def write(self, planned: Planned) -> None:
        """Add a step. Raises CourseError if it cannot be sent."""
        verb, about = planned.verb, self.about(planned)
        drawn = {name: self.value(value) for name, value in planned.given.items()}
        named = drawn.pop("named", {})
        known = SETTINGS.get(verb, tuple(drawn))
        settings = {name: drawn.pop(name) for name in known if name in drawn}
        about |= {name: self.setting(name, v, about | settings) for name, v in settings.items()}
        if issubclass(verb, Passing):
            passed = (drawn | named).items()
            about["arguments"] = {name: self.spell(name, value) for name, value in passed}
        if verb in (Construct, Duplicate):
            made = sum(isinstance(step, (Construct, Duplicate)) for step in self.steps)
            about["result"] = self.objects[planned] = f"object{made}"
        self.steps.append(verb(**about))

    def about(self, planned: Planned) -> dict[str, Any]:
        """Return what a step is about: by default the object made last, or else the exercise."""
        verb, target = planned.verb, planned.target
        if isinstance(target, Planned):
            return {"on": self.objects[target]}
        if target or verb is Construct or (verb is Call and not self.objects):
            return {"name": target or self.exercise}
        if not self.objects:
            raise CourseError(f"`{verb.__name__.lower()}` is about an object, and none is made yet")
        return {"on": [*self.objects.values()][-1]}

    def setting(self, name: str, value: Any, step: dict[str, Any]) -> Any:
        """Return a setting as it stands in a step, of which the others are known."""
        match name:
            case "seed":
                return None if value is None else self.seeds(value)
            case "gradient":
                place = f"{step.get('result', 'result')}.gradient"
                if isinstance(value, tuple):
                    return [self.keep(f"{place}.{n}", part) for n, part in enumerate(value)]
                return None if value is None else [self.keep(place, value)]
            case "weights":
                place = f"{step['on']}.{len(self.steps)}"  # it may be given weights twice
                return {key: self.keep(f"{place}.{key}", part) for key, part in value.items()}
            case "source":
                return self.objects[value]
            case "constants" | "afterwards":
                return list(value)
        return value

    def spell(self, name: str, value: object) -> Tree:
        """Return an argument as it stands in a step: tensors and objects by name."""
        packer = Packer(lambda place, held: {"tensor": self.keep(place, held)}, self.handle_of)
        tree = packer.pack(value, f"{len(self.steps)}.{name}")
        place, what = next(unjudged(tree, name), ("", ""))
        if what:
            raise CourseError(f"{place} is {what}, which cannot be passed to learner code")
        return tree

    def handle_of(self, value: object) -> Tree | None:
        """Return what stands for an object that an earlier step makes; None for other values."""
        if isinstance(value, Planned):
            return {"object": self.objects[value]}
        return {"object": value.handle} if isinstance(value, Part) else None

    def keep(self, key: str, value: torch.Tensor) -> str:
        """Keep a tensor under a name."""
        self.tensors[key] = value
        return key


def record(
    exercise: str,
    name: str,
    steps: Sequence[Planned],
    value: Callable[[Any], Any] = lambda value: value,
    seeds: Callable[[int], int] = int,
    **settings: Unpack[CaseSettings],
) -> Case:
    """Return the case with these steps. value, seeds: see CaseWriter. Raises CourseError."""
    writer = CaseWriter(exercise, value, seeds)
    try:
        for planned in steps:
            writer.write(planned)
    except CourseError as error:
        raise CourseError(f"{exercise}, case {name}: {error}") from None
    return Case(exercise, name, tuple(writer.steps), writer.tensors, **settings)


def seed_for(master: int, *purpose: str | int) -> int:
    """A seed of 63 bits for one purpose. Whoever knows it learns nothing of master or of others.

    That holds for a master that cannot be guessed: the hash is public, the key is all the secret.

    >>> seed_for(1, "mean", "a/1") == seed_for(1, "mean/a", "1")
    False
    """
    key = blake2b(str(master).encode()).digest()
    digest = blake2b(json.dumps(purpose).encode(), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "big") >> 1


def last_call_alone(case: Case) -> tuple[Case, str] | None:
    """A case without the calls before its last one, and the name of what that one gives.

    None where there are no calls before it, or where it is given what comes of them.

    >>> first, last = Planned(Call, "f", {"result": "one"}), Planned(Call, "f", {"x": 1})
    >>> alone, name = last_call_alone(record("mean", "a/1", [first, last]))
    >>> name, alone.passed
    ('result', [('x', 1)])
    """
    if len(case.calls) < 2:
        return None
    *before, last = case.calls
    given = {part for value in last.arguments.values() for part in objects_in(value)}
    if {step.result for step in before} & {handle.partition(".")[0] for handle in given}:
        return None
    alone = replace(last, refilled="")
    steps = (alone if step is last else step for step in case.steps if step not in before)
    return replace(case, steps=tuple(steps)), last.result


def objects_in(value: Tree) -> Iterator[str]:
    """The handles of the objects in an argument.

    >>> list(objects_in({"tuple": [{"object": "first.1"}, {"number": 2}]}))
    ['first.1']
    """
    if isinstance(value, dict):
        yield from [value["object"]] if "object" in value else objects_in([*value.values()])
    elif isinstance(value, list):
        for part in value:
            yield from objects_in(part)


def spoken(case: Case, hidden: bool = True) -> str:
    """What a case calls, in one line, with shapes. hidden: of texts and lists only their sizes.

    >>> spoken(record("mean", "a/1", [Planned(Call, None, {"x": torch.ones(2, 3), "dim": 1})]))
    'mean(x: (2, 3), dim=1)'
    """
    said = (spoken_step(case, step, hidden) for step in case.steps)
    return ", then ".join(filter(None, said))


def spoken_step(case: Case, step: Step, hidden: bool) -> str:
    """What a step asks, in words; nothing where that says nothing to a learner."""
    passed = step.arguments if isinstance(step, Passing) else {}
    arguments = ", ".join(f"{k}{spoken_value(case, v, hidden)}" for k, v in passed.items())
    made = passed_as(case, step.result) if isinstance(step, Construct) else ""
    return f"{made} = " * bool(made) + step.describe(arguments)


def passed_as(case: Case, handle: str) -> str:
    """The name of the argument for which an object is passed in; empty where it is for none."""
    return next((name for name, value in case.passed if value == {"object": handle}), "")


def spoken_value(case: Case, value: Tree, hidden: bool) -> str:
    """What follows an argument's name: the shape of a tensor, a number, a text or a list."""
    if kind(value) == "tensor":
        return ": " + spoken_shape(case.tensors[value["tensor"]].shape)
    if kind(value) == "object":
        return ""
    if hidden and kind(value) not in ("none", "bool", "number"):
        return f": {sized(value)}"
    return f"={short(shown(value), LONGEST_ARGUMENT)}"


def spoken_shape(shape: Sequence[int]) -> str:
    """`(2, 6, 3)`, as Python writes it and as docstrings do; or `a single number`.

    >>> spoken_shape((2, 3)), spoken_shape((4,)), spoken_shape(())
    ('(2, 3)', '(4,)', 'a single number')
    """
    return str(tuple(shape)) if len(shape) else "a single number"
