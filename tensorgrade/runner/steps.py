"""The verbs of cases: dataclasses that define the content and the execution of a step.

The trusted side writes a step and sends it as JSON. The learner's side decodes and runs it. A step
refers to tensors and objects by name. Its results are collected under its result name.
"""

import copy
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

import torch
from torch import nn

from .case_runner import (
    KEYS,
    CaseRunner,
    Step,
    gradients,
    load_weights,
    parts_of,
    refilled,
    scattered,
    seed_everything,
)
from .instrumentation import OperationCounter, Snapshot, describe_module
from .names import as_asked
from .second_device import DEVICE, SecondDevice, TwoDevices, name_left
from .values import MOST_PARTS, Tree, is_tensor


@dataclass(frozen=True, kw_only=True)
class Passing(Step):
    """A step that passes arguments.

    settings: an author's keywords that are fields of the step; all others are arguments.
    """

    settings: ClassVar[tuple[str, ...]] = ()

    arguments: dict[str, Tree] = field(default_factory=dict)

    def values(self, runner: CaseRunner) -> dict[str, Any]:
        """Return the arguments with tensors and objects filled in for their names."""
        return {name: runner.resolve(value) for name, value in self.arguments.items()}


@dataclass(frozen=True, kw_only=True)
class Construct(Passing):
    """Create an object of a class, and put it on the device in the requested dtype.

    given: True for a substitute of the course. seed: for its initial weights.
    """

    about = "exercise"
    makes_object = True
    settings = ("given", "dtype", "seed")

    given: bool = False
    dtype: str = "float32"
    seed: int = 0

    def run(self, runner: CaseRunner) -> None:
        seed_everything(self.seed, runner.device)
        found = runner.find(self.name, self.given)
        with runner.recorder or nullcontext():
            called = "" if self.given else self.name
            made = runner.call(found, self.values(runner), called)
            if isinstance(made, nn.Module):
                made = made.to(runner.device, dtype=getattr(torch, self.dtype))
        runner.objects[self.result], runner.made_of[self.result] = made, called

    def in_float32(self) -> "Construct":
        return replace(self, dtype="float32")

    def describe(self, arguments: str) -> str:
        return f"{self.name}({arguments})"


@dataclass(frozen=True, kw_only=True)
class Duplicate(Step):
    """Make a deep copy of an object."""

    makes_object = True

    def run(self, runner: CaseRunner) -> None:
        runner.objects[self.result] = copy.deepcopy(runner.objects[self.on])
        runner.renamed[self.result] = runner.renamed.get(self.on, {})
        runner.made_of[self.result] = runner.made_of[self.on]


@dataclass(frozen=True, kw_only=True)
class Restore(Step):
    """Load into an object the state that another one saves."""

    source: str

    def run(self, runner: CaseRunner) -> None:
        state = copy.deepcopy(runner.objects[self.source].state_dict())
        runner.objects[self.on].load_state_dict(state)


@dataclass(frozen=True, kw_only=True)
class Load(Step):
    """Copy weights in by name; record names that are missing, extra or of another shape."""

    weights: dict[str, str]

    def run(self, runner: CaseRunner) -> None:
        module = runner.objects[self.on]
        weights = {name: runner.tensors[key] for name, key in self.weights.items()}
        told, renamed = load_weights(module, weights)
        runner.header["facts"]["load"], runner.renamed[self.on] = told, renamed
        runner.understood(renamed)


@dataclass(frozen=True, kw_only=True)
class Mode(Step):
    """Switch between training and evaluation."""

    training: bool

    def run(self, runner: CaseRunner) -> None:
        runner.objects[self.on].train(self.training)

    def describe(self, arguments: str) -> str:
        return ".train()" if self.training else ".eval()"


@dataclass(frozen=True, kw_only=True)
class Describe(Step):
    """Describe the parts of an object; with state, also store its parameters' values."""

    result: str = "module"
    state: bool = False

    def run(self, runner: CaseRunner) -> None:
        target = runner.target(self)
        runner.header["facts"][self.result] = describe_module(target)
        for name, value in target.named_parameters() if self.state else ():
            runner.keep(f"{self.result}.{name}", value)


@dataclass(frozen=True, kw_only=True)
class Read(Step):
    """Store the content of an object, or of a part of it at a dotted path."""

    def run(self, runner: CaseRunner) -> None:
        runner.keep(self.result, runner.target(self))


@dataclass(frozen=True, kw_only=True)
class Move(Passing):
    """Move a module to a second device and call it there; name a tensor that was left behind.

    There is no result, because nothing is computed on that device.
    """

    settings = ("result",)

    result: str = "moved"

    def run(self, runner: CaseRunner) -> None:
        moved = runner.target(self).to(DEVICE)
        given = self.values(runner).items()
        arguments = {name: v.to(DEVICE) if is_tensor(v) else v for name, v in given}
        facts = runner.header["facts"].setdefault(self.result, {"left": ""})
        try:
            with SecondDevice():
                runner.call(moved, arguments, runner.called_in(self))
        except TwoDevices as error:
            facts["left"] = name_left(error, moved, str(runner.module.__file__))
            raise

    def describe(self, arguments: str) -> str:
        return f"its forward({arguments}) on another device"


@dataclass(frozen=True, kw_only=True)
class Call(Passing):
    """Call a function or module; store its result, gradients and changed inputs.

    gradient: requests gradients; the keys of the gradients with respect to the results, in order.
    watch: counts operations.
    seed: set before the call; None continues with the previous call's random numbers.
    scattered: passes tensors that are not contiguous in memory.
    refilled: passes the same objects as the call with that result, with new numbers written into
    them.
    constants: arguments that need no gradient.
    no_grad: runs inside `torch.no_grad()`.
    unkept: does not store the result.
    """

    about = "either"
    settings = (
        *("gradient", "watch", "result", "seed", "path", "scattered", "refilled", "constants"),
        *("no_grad", "unkept"),
    )

    result: str = "result"
    gradient: list[str] | None = None
    watch: bool = False
    seed: int | None = 0
    scattered: bool = False
    refilled: str = ""
    constants: list[str] = field(default_factory=list)
    no_grad: bool = False
    unkept: bool = False

    def describe(self, arguments: str) -> str:
        called = self.name or (f".{self.path}" if self.path else "its forward")
        return f"{called}({arguments})"

    def run(self, runner: CaseRunner) -> None:
        if self.seed is not None:
            seed_everything(self.seed, runner.device)
        arguments, leaves = self.fresh_values(runner)
        runner.passed[self.result] = arguments
        held = self.held(runner)
        before = {name: Snapshot(value) for name, value in (arguments | held).items()}
        watcher = OperationCounter() if self.watch else None
        facts = runner.header["facts"].setdefault(self.result, {})
        returned: object = None
        learning = torch.no_grad() if self.no_grad else nullcontext()
        try:
            with watcher or nullcontext(), runner.recording(facts, before), learning:
                target = runner.target(self)
                returned = runner.call(target, arguments, runner.called_in(self))
                kind = type(returned).__name__
                if isinstance(returned, Iterator):  # a generator can be read only once
                    returned = list(islice(returned, MOST_PARTS + 1))
        finally:
            if runner.recorder:
                runner.header["facts"]["stages"] = runner.recorder.told(returned)
                runner.results |= runner.recorder.tensors()
        runner.returned[self.result] = returned
        if not self.unkept:
            runner.keep(self.result, returned, kind)
        facts["changed"] = [k for k in arguments if k not in held and before[k].changed()]
        if altered := [k for k in held if before[k].changed()]:
            facts["altered"] = altered
        if watcher:
            facts["operations"] = dict(watcher.counts)
            facts["largest"] = watcher.largest
            facts["tracked"] = watcher.calls.tracked
        if self.gradient:
            self.keep_gradients(runner, returned, leaves)

    def fresh_values(self, runner: CaseRunner) -> tuple[dict, dict]:
        """Return the arguments, and the tensors whose gradients are requested (leaves), by name.

        Learner code gets a clone of each leaf, so that changing it in place raises no error.
        """
        arguments, leaves = self.values(runner), {}
        if self.scattered:
            arguments = {k: scattered(v) if is_tensor(v) else v for k, v in arguments.items()}
        if self.refilled:
            passed = runner.passed[self.refilled]
            arguments = {k: refilled(passed.get(k), v) for k, v in arguments.items()}
        for name, value in arguments.items():
            if name in self.constants:
                continue
            if self.gradient and is_tensor(value) and value.is_floating_point():
                leaves[name] = value.requires_grad_()
                arguments[name] = value.clone()
        return arguments, leaves

    def held(self, runner: CaseRunner) -> dict[str, Any]:
        """Return objects that persist between calls: the called object, and those passed in."""
        names = {
            name: value["object"]
            for name, value in self.arguments.items()
            if isinstance(value, dict) and "object" in value
        }
        names |= {"self": self.on} if self.on else {}
        return {name: runner.held_under(handle) for name, handle in names.items()}

    def keep_gradients(self, runner: CaseRunner, returned: object, leaves: dict) -> None:
        """Store the gradients with respect to inputs and parameters, added up over all results."""
        if self.on:
            renamed = runner.renamed.get(self.on, {})
            named = runner.objects[self.on].named_parameters()
            leaves |= {as_asked(name, renamed): parameter for name, parameter in named}
        wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
        # A learner may return more or fewer results. Use those that have a partner.
        pairs = [
            (out, runner.tensors[key].to(out))
            for out, key in zip(parts_of(returned), self.gradient or (), strict=False)
            if is_tensor(out) and out.requires_grad
        ]
        if not pairs:
            return
        results, seeds = zip(*pairs, strict=True)
        found = gradients(results, list(wanted.values()), seeds)
        for name, gradient in zip(wanted, found, strict=True):
            if gradient is not None:
                runner.keep(f"gradient.{name}", gradient)


VERBS: dict[str, type[Step]] = {
    one.__name__.lower(): one
    for one in (Construct, Duplicate, Restore, Load, Mode, Describe, Read, Move, Call)
}


def decode(told: dict[str, Any]) -> Step:
    """Return the step that `Step.encode` wrote.

    >>> decode(Mode(on="object0", training=True).encode())
    Mode(name='', on='object0', path='', result='', stages=False, training=True)
    """
    names = {key: name for name, key in KEYS.items()}
    given = {names.get(key, key): value for key, value in told.items()}
    return VERBS[given.pop("verb")](**given)
