"""Cases: what an attempt is asked to do, written as calls and recorded as data.

A case is written once, as a function of an attempt and a source of seeded numbers:

    def small_layer(attempt, draw):
        module = attempt.construct("Layer", width=3, size=4)
        module.load({"weight": draw.weights(4, 3)})
        module.call(x=draw.normal(2, 3))

`record` turns it into steps and tensors. The same steps then run on the solution (the
reference), on every mistake (its fingerprint) and on every learner's attempt.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TypedDict, Unpack

import torch

from ..course import CourseError
from ..runner.values import Packer, Tree
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
    steps: tuple[dict, ...]
    tensors: dict[str, torch.Tensor] = field(repr=False)
    shown: bool = False
    signature: str = "values"
    rate: str = ""
    parts: str = ""

    @cached_property
    def group(self) -> str:
        """`values` for `values/3`."""
        return self.name.split("/")[0]

    def asked(self, argument: str) -> float:
        """The number that the first step with that argument passes for it. Raises CourseError."""
        for step in self.steps:
            if argument in step.get("arguments", {}):
                return step["arguments"][argument]
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


# What a result's gradients are taken against: one tensor, or one for each part of a tuple.
Gradient = torch.Tensor | tuple[torch.Tensor, ...] | None


class Recorder:
    """Stands where an attempt will stand, and writes down what it is asked.

    seeds: what is set in the attempt's process where an author writes a seed. Learner code can
    read it there, so on hidden cases it is another number, from which nothing else follows.
    """

    def __init__(self, seeds: Callable[[int], int] = int) -> None:
        self.seeds = seeds
        self.steps: list[dict] = []
        self.tensors: dict[str, torch.Tensor] = {}

    def construct(
        self,
        name: str,
        *,
        given: bool = False,
        seed: int = 0,
        dtype: str = "float64",
        **arguments: object,
    ) -> "RecordedObject":
        """Make an object of a class of the attempt (or of the stand-ins, where `given`)."""
        handle = self.new_handle()
        settings = {"name": name, "given": given, "dtype": dtype, "seed": self.seeds(seed)}
        self.step("construct", arguments, handle=handle, **settings)
        return RecordedObject(self, handle)

    def new_handle(self) -> str:
        """A name for one more object."""
        return f"object{sum(step['verb'] in ('construct', 'duplicate') for step in self.steps)}"

    def call(
        self,
        name: str,
        *,
        gradient: Gradient = None,
        watch: bool = False,
        seed: int | None = 0,
        result: str = "result",
        scattered: bool = False,
        refilled: str = "",
        constants: Sequence[str] = (),
        printed: str = "",
        afterwards: Sequence[str] = (),
        no_grad: bool = False,
        unkept: bool = False,
        **arguments: object,
    ) -> None:
        """Call a function of the attempt.

        gradient: asks for gradients, one tensor for each result that is a part of a tuple.
        watch: counts operations. scattered: tensors do not lie contiguously in memory.
        refilled: tensors are the very objects that the call with this result was given.
        constants: arguments that need no gradient. printed: a name for what the call prints.
        afterwards: arguments whose values after the call are kept, as `afterwards.` and the name.
        no_grad: inside `torch.no_grad()`. unkept: what comes back is of no interest. seed: None
        goes on with the random numbers of before.
        """
        more = {"scattered": scattered, "constants": constants, "printed": printed}
        more |= {"afterwards": afterwards, "no_grad": no_grad, "unkept": unkept}
        more |= {"refilled": refilled}
        self.record_call({"name": name}, arguments, gradient, watch, seed, result, more)

    def record_call(
        self,
        target: dict[str, str],
        arguments: dict,
        gradient: Gradient,
        watch: bool,
        seed: int | None,
        result: str,
        more: dict,
    ) -> None:
        """A call of what `target` says: a name, or an object and the path of a part of it.

        more: settings that stand in the step only where they say something.
        """
        settings: dict = {**target, "gradient": self.gradient_keys(gradient, result)}
        settings |= {"watch": watch, "seed": None if seed is None else self.seeds(seed)}
        settings |= {k: list(v) if isinstance(v, tuple) else v for k, v in more.items() if v}
        self.step("call", arguments, **settings, handle=result)

    def gradient_keys(self, gradient: Gradient, result: str) -> list[str] | None:
        """The names under which the gradients are sent; None where none is asked for."""
        if gradient is None:
            return None
        if isinstance(gradient, tuple):
            return [self.tensor(f"{result}.gradient.{n}", g) for n, g in enumerate(gradient)]
        return [self.tensor(f"{result}.gradient", gradient)]

    def step(self, verb: str, arguments: dict, *, handle: str, **settings: object) -> None:
        """A step with arguments; those whose names are settings of the verb stand in `named`."""
        at, named = len(self.steps), arguments.get("named", {})
        arguments = {k: v for k, v in arguments.items() if k != "named"} | named
        spelled = {k: self.spell(f"{at}.{k}", v) for k, v in arguments.items()}
        self.steps.append({"verb": verb, "as": handle, "arguments": spelled, **settings})

    def spell(self, key: str, value: object) -> Tree:
        """How an argument is written in a step: tensors and objects by name. Raises CourseError."""
        tree = Packer(lambda place, held: {"tensor": self.tensor(place, held)}, handle_of).pack(
            value, key
        )
        place, what = next(unjudged(tree, key.partition(".")[2]), ("", ""))
        if what:
            raise CourseError(f"{place} is {what}, which cannot be passed to learner code")
        return tree

    def tensor(self, key: str, value: torch.Tensor) -> str:
        self.tensors[key] = value
        return key


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


def handle_of(value: object) -> Tree | None:
    """What stands for an object that an earlier step makes; None for any other value."""
    return {"object": value.handle} if isinstance(value, (RecordedObject, Part)) else None


class RecordedObject:
    """A handle on an object that will live on the learner's side."""

    def __init__(self, recorder: Recorder, handle: str):
        self.recorder, self.handle = recorder, handle

    def load(self, weights: dict[str, torch.Tensor], beside: str = "") -> None:
        """Copy weights in by their names. beside: after them those of a file, where they fit."""
        at = f"{self.handle}.{len(self.recorder.steps)}"  # it may be given weights twice
        keys = {k: self.recorder.tensor(f"{at}.{k}", v) for k, v in weights.items()}
        file = {"beside": beside} if beside else {}
        self.recorder.steps.append({"verb": "load", "on": self.handle, "weights": keys, **file})

    def duplicate(self) -> "RecordedObject":
        """A deep copy of it."""
        handle = self.recorder.new_handle()
        self.recorder.steps.append({"verb": "duplicate", "on": self.handle, "as": handle})
        return RecordedObject(self.recorder, handle)

    def restore(self, source: "RecordedObject") -> None:
        """Load the state that another object saves."""
        self.recorder.steps.append({"verb": "restore", "on": self.handle, "source": source.handle})

    def mode(self, training: bool) -> None:
        """Switch between training and evaluation."""
        self.recorder.steps.append({"verb": "mode", "on": self.handle, "training": training})

    def describe(self, result: str = "module", state: bool = False, path: str = "") -> None:
        """Ask what the object is made of; with `state`, its parameters' values too."""
        self.recorder.steps.append(
            {"verb": "describe", "on": self.handle, "as": result, "state": state, "path": path}
        )

    def move(self, *, result: str = "moved", **arguments: object) -> None:
        """Move the object to a second device and call it there."""
        self.recorder.step("move", arguments, handle=result, on=self.handle)

    def call(
        self,
        *,
        gradient: Gradient = None,
        watch: bool = False,
        seed: int | None = 0,
        result: str = "result",
        path: str = "",
        scattered: bool = False,
        refilled: str = "",
        constants: Sequence[str] = (),
        printed: str = "",
        afterwards: Sequence[str] = (),
        no_grad: bool = False,
        unkept: bool = False,
        **arguments: object,
    ) -> None:
        """Call the object, or the part of it at a dotted `path`."""
        target = {"on": self.handle, "path": path}
        more = {"scattered": scattered, "constants": constants, "printed": printed}
        more |= {"afterwards": afterwards, "no_grad": no_grad, "unkept": unkept}
        more |= {"refilled": refilled}
        self.recorder.record_call(target, arguments, gradient, watch, seed, result, more)

    def read(self, path: str, result: str = "") -> None:
        """Keep what stands at a dotted path, under that name or another one."""
        at = {"on": self.handle, "path": path, "as": result or path}
        self.recorder.steps.append({"verb": "read", **at})

    def gradients(self, result: str = "grad", path: str = "") -> None:
        """Keep the gradients that the object's parameters hold by now, each by its name."""
        at = {"on": self.handle, "path": path, "as": result}
        self.recorder.steps.append({"verb": "gradients", **at})


def record(
    exercise: str,
    name: str,
    write: Callable[[Recorder, Draw], None],
    seed: int,
    dtype: torch.dtype = torch.float64,
    hidden: bool = False,
    **settings: Unpack[CaseSettings],
) -> Case:
    """The case that `write(attempt, draw)` writes.

    Its numbers depend on the seed, the exercise and the case's name, and on no other case. On a
    hidden case so do the seeds that its steps set.
    """

    def own_seed(written: int) -> int:
        return seed_for(seed, exercise, name, "seed", written)

    recorder = Recorder(own_seed if hidden else int)
    try:
        write(recorder, Draw(seed_for(seed, exercise, name), dtype))
    except CourseError as error:
        raise CourseError(f"{exercise}, case {name}: {error}") from None
    return Case(exercise, name, tuple(recorder.steps), recorder.tensors, **settings)


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

    >>> case = record("mean", "a/1", lambda a, d: (a.call("f", result="one"), a.call("f", x=1)), 1)
    >>> alone, name = last_call_alone(case)
    >>> name, [step["arguments"] for step in alone.steps]
    ('result', [{'x': 1}])
    """
    *before, last = [step for step in case.steps if step["verb"] == "call"] or [{}]
    made = {step["as"] for step in before}
    given = {part for value in last.get("arguments", {}).values() for part in objects_in(value)}
    if not before or made & {handle.partition(".")[0] for handle in given}:
        return None
    alone = {name: value for name, value in last.items() if name != "refilled"}
    steps = (alone if step is last else step for step in case.steps if step not in before)
    return replace(case, steps=tuple(steps)), last["as"]


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

    >>> spoken(record("mean", "a/1", lambda a, d: a.call("mean", x=d.normal(2, 3), dim=1), 1))
    'mean(x: (2, 3), dim=1)'
    """
    said = (spoken_step(case, step, hidden) for step in case.steps)
    return ", then ".join(sentence for sentence in said if sentence is not None)


def spoken_step(case: Case, step: dict, hidden: bool) -> str | None:
    if step["verb"] == "mode":
        return ".train()" if step["training"] else ".eval()"
    if step["verb"] not in ("construct", "call", "move"):
        return None
    passed = step["arguments"].items()
    arguments = ", ".join(f"{k}{spoken_value(case, v, hidden)}" for k, v in passed)
    name = step.get("name") or ("." + step["path"] if step.get("path") else "its forward")
    made = passed_as(case, step["as"]) if step["verb"] == "construct" else ""
    called = f"{made} = {name}({arguments})" if made else f"{name}({arguments})"
    return called + " on another device" * (step["verb"] == "move")


def passed_as(case: Case, handle: str) -> str:
    """The name of the argument for which an object is passed in; empty where it is for none."""
    passed = (item for step in case.steps for item in step.get("arguments", {}).items())
    return next((name for name, value in passed if value == {"object": handle}), "")


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
