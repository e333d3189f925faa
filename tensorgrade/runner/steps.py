"""The verbs of steps: functions that execute a step on a learner's code."""

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

import torch
from torch import nn

from .case_runner import CaseRunner
from .instrumentation import OperationCounter, Snapshot, describe_module
from .names import names_in_stub, renamed
from .second_device import SecondDevice, TwoDevices, name_left
from .step import Step
from .values import MOST_PARTS, is_tensor


def construct(
    runner: CaseRunner, step: Step, *, given: bool = False, dtype: str = "float32", seed: int = 0
) -> None:
    """Create an object of a class, and put it on the device in the requested dtype.

    given: True for a substitute of the course. seed: for its initial weights.
    """
    seed_everything(seed, runner.device)
    called = "" if given else step.name
    with runner.recording({}, {}):
        made = runner.call(runner.find(step.name, given), runner.values(step), called)
        if isinstance(made, nn.Module):
            made = made.to(runner.device, dtype=getattr(torch, dtype))
    runner.objects[step.result], runner.made_of[step.result] = made, called


def duplicate(runner: CaseRunner, step: Step) -> None:
    """Make a deep copy of an object."""
    runner.objects[step.result] = copy.deepcopy(runner.objects[step.on])
    runner.renamed[step.result] = runner.renamed.get(step.on, {})
    runner.made_of[step.result] = runner.made_of[step.on]


def restore(runner: CaseRunner, step: Step, *, source: str) -> None:
    """Load into an object the state that another one saves."""
    state = copy.deepcopy(runner.objects[source].state_dict())
    runner.objects[step.on].load_state_dict(state)


def load(runner: CaseRunner, step: Step, *, weights: dict[str, str]) -> None:
    """Copy weights in by name; record names that are missing, extra or of another shape."""
    values = {name: runner.tensors[key] for name, key in weights.items()}
    own = own_parameters(runner.objects[step.on], values)
    names = names_in_stub(shapes(values), shapes(own), runner.assigned.weights)
    if names:
        runner.note_names(step.on, shapes(own), names)
    runner.renamed[step.on] = names or {name: name for name in own}
    parameters = {renamed(name, names): parameter for name, parameter in own.items()}
    told = load_weights(runner.objects[step.on], parameters, values)
    if runner.deciding:
        for name in told["unexpected"]:
            parameters[name].detach().zero_()
        told["unexpected"] = []
    runner.header["facts"]["load"] = told


def mode(runner: CaseRunner, step: Step, *, training: bool) -> None:
    """Switch between training and evaluation."""
    runner.objects[step.on].train(training)


def describe(runner: CaseRunner, step: Step, *, state: bool = False) -> None:
    """Describe the parts of an object; with state, also store its parameters' values."""
    target = runner.target(step)
    runner.header["facts"][step.result] = describe_module(target)
    for name, value in target.named_parameters() if state else ():
        runner.keep(f"{step.result}.{name}", value)


def read(runner: CaseRunner, step: Step) -> None:
    """Store the content of an object, or of a part of it at a dotted path."""
    runner.keep(step.result, runner.target(step))


def move(runner: CaseRunner, step: Step) -> None:
    """Move a module to a second device and call it there; name a tensor that was left behind.

    Nothing is kept of its result.
    """
    moved, arguments = runner.target(step), runner.values(step)
    facts = runner.header["facts"].setdefault(step.result, {"left": ""})
    passed = filter(is_tensor, arguments.values())
    try:
        with SecondDevice([*moved.parameters(), *moved.buffers(), *passed]):
            runner.call(moved, arguments, runner.called_in(step))
    except TwoDevices as error:
        facts["left"] = name_left(error, moved, str(runner.module.__file__))
        raise


def call(
    runner: CaseRunner,
    step: Step,
    *,
    seed: int | None = 0,
    gradient: Sequence[str] | None = None,
    constants: Sequence[str] = (),
    scattered: bool = False,
    refilled: str = "",
    watch: bool = False,
    no_grad: bool = False,
    unkept: bool = False,
) -> None:
    """Call a function or module; store its result, gradients and changed inputs.

    seed: set before the call; None continues with the previous call's random numbers.
    gradient: requests gradients; the keys of the gradients with respect to the results, in order.
    constants: arguments that need no gradient.
    scattered: passes tensors that are not contiguous in memory.
    refilled: passes the same objects as the call with that result, with new numbers in them.
    watch: counts operations.
    no_grad: runs inside `torch.no_grad()`.
    unkept: does not store the result.
    """
    if seed is not None:
        seed_everything(seed, runner.device)
    arguments = runner.values(step)
    if scattered:
        arguments = {k: with_gaps(v) if is_tensor(v) else v for k, v in arguments.items()}
    if refilled:
        passed = runner.passed[refilled]
        arguments = {k: refill(passed.get(k), v) for k, v in arguments.items()}
    runner.passed[step.result] = arguments
    leaves = take_leaves(arguments, constants) if gradient else {}
    facts = runner.header["facts"].setdefault(step.result, {})
    watcher = OperationCounter() if watch else nullcontext()
    learning = torch.no_grad() if no_grad else nullcontext()
    with noting_changes(runner, step, arguments, facts) as watched, watcher as seen, learning:
        returned, kind = recorded(runner, step, arguments, facts, watched)
    if seen:
        facts |= {"operations": dict(seen.counts), "largest": seen.largest}
        facts["tracked"] = seen.calls.tracked
    runner.returned[step.result] = returned
    if not unkept:
        runner.keep(step.result, returned, kind)
    if gradient:
        keep_gradients(runner, step, returned, gradient, leaves)


VERBS: dict[str, Callable[..., None]] = {
    verb.__name__: verb
    for verb in (construct, duplicate, restore, load, mode, describe, read, move, call)
}


@contextmanager
def noting_changes(
    runner: CaseRunner, step: Step, arguments: dict[str, Any], facts: dict[str, Any]
) -> Iterator[dict[str, Snapshot]]:
    """Yield a snapshot of each value of a call, and report those that the code inside changes.

    `changed` has the names of arguments, `altered` those of objects that outlive the call: objects
    among the arguments, and the called object as `self`.
    """
    passed = step.arguments.items()
    handles = {name: v["object"] for name, v in passed if isinstance(v, dict) and "object" in v}
    handles |= {"self": step.on} if step.on else {}
    values = arguments | {name: runner.held_under(handle) for name, handle in handles.items()}
    before = {name: Snapshot(value) for name, value in values.items()}
    yield before
    changed = [name for name, one in before.items() if one.changed()]
    facts["changed"] = [name for name in changed if name not in handles]
    if altered := [name for name in changed if name in handles]:
        facts["altered"] = altered


def recorded(
    runner: CaseRunner,
    step: Step,
    arguments: dict[str, Any],
    facts: dict[str, Any],
    watched: dict[str, Snapshot],
) -> tuple[object, str]:
    """Return the result of a call and its type's name; record intermediate values if requested."""
    returned: object = None
    try:
        with runner.recording(facts, watched):
            returned = runner.call(runner.target(step), arguments, runner.called_in(step))
            kind = type(returned).__name__
            if isinstance(returned, Iterator):  # a generator can be read only once
                returned = list(islice(returned, MOST_PARTS + 1))
    finally:
        if runner.recorder:
            runner.header["facts"]["stages"] = runner.recorder.told(returned)
            runner.results |= runner.recorder.tensors()
    return returned, kind


def take_leaves(arguments: dict[str, Any], constants: Sequence[str]) -> dict[str, torch.Tensor]:
    """Return the arguments whose gradients are requested (leaves), and pass a clone of each.

    Learner code that changes a clone in place raises no error.
    """
    leaves = {}
    for name, value in arguments.items():
        if name not in constants and is_tensor(value) and value.is_floating_point():
            leaves[name] = value.requires_grad_()
            arguments[name] = value.clone()
    return leaves


def keep_gradients(
    runner: CaseRunner,
    step: Step,
    returned: object,
    seeds: Sequence[str],
    leaves: dict[str, torch.Tensor],
) -> None:
    """Store the gradients with respect to inputs and parameters, added up over all results."""
    if step.on:
        names = runner.renamed.get(step.on, {})
        own = own_parameters(runner.objects[step.on], names.values())
        leaves = leaves | {renamed(name, names): parameter for name, parameter in own.items()}
    if frozen := [name for name, leaf in leaves.items() if not leaf.requires_grad]:
        runner.header["facts"]["gradients"] = {"frozen": frozen}
        leaves = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    # A learner may return more or fewer results. Use those that have a partner.
    pairs = [
        (out, runner.tensors[key].to(out))
        for out, key in zip(parts_of(returned), seeds, strict=False)
        if is_tensor(out) and out.requires_grad and out.is_floating_point()
    ]
    if not pairs:
        return
    results, directions = zip(*pairs, strict=True)
    found = gradients(results, directions, list(leaves.values()))
    for name, gradient in zip(leaves, found, strict=True):
        if gradient is not None:
            runner.keep(f"gradient.{name}", gradient)


MISMATCH = "Mismatch in shape:"  # prefix of torch's message that a gradient does not fit


def gradients(
    results: Sequence[torch.Tensor], seeds: Sequence[torch.Tensor], leaves: Sequence[torch.Tensor]
) -> tuple[torch.Tensor | None, ...]:
    """Return the gradient of each leaf, or None for a leaf that no result depends on.

    seeds: the gradient with respect to each result.

    torch imports sympy to compare the shapes of a result and its gradient. To avoid that, this
    function compares them itself, with torch's message if they differ. It then differentiates a
    weighted sum, which needs no gradient argument.
    """
    for number, (result, seed) in enumerate(zip(results, seeds, strict=True)):
        if result.shape != seed.shape:
            raise RuntimeError(
                f"{MISMATCH} grad_output[{number}] has a shape of {seed.shape} and "
                f"output[{number}] has a shape of {result.shape}."
            )
    sums = [(result * seed).sum() for result, seed in zip(results, seeds, strict=True)]
    return torch.autograd.grad(sum(sums[1:], sums[0]), leaves, allow_unused=True)


def parts_of(returned: Any) -> list | tuple:
    """Return the results of a call in order, whatever container they came in."""
    if isinstance(returned, dict):
        return list(returned.values())
    if is_dataclass(returned) and not isinstance(returned, type):
        return [getattr(returned, one.name) for one in fields(returned)]
    return returned if isinstance(returned, (list, tuple)) else [returned]


def seed_everything(seed: int, device: str) -> None:
    """Seed the generators that are in use; torch.manual_seed would prepare all kinds of devices."""
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        torch.cuda.manual_seed(seed)


def with_gaps(tensor: torch.Tensor) -> torch.Tensor:
    """Return an equal tensor that is not contiguous: in column order; a vector with gaps.

    >>> with_gaps(torch.ones(2, 3)).stride(), with_gaps(torch.ones(3)).stride()
    ((1, 2), (2,))
    """
    if tensor.dim() < 2:
        return torch.stack((tensor, tensor), dim=-1)[..., 0]
    return tensor.mT.contiguous().mT


@torch.no_grad()
def refill(kept: object, value: Any) -> Any:
    """Write a value's numbers into a tensor that was passed before, and return that tensor.

    If they are not tensors of the same shape, return the value itself. This reveals code that
    caches a result by the identity of its input and does not notice that the content has changed.

    >>> kept = torch.zeros(2)
    >>> refill(kept, torch.ones(2)) is kept, kept
    (True, tensor([1., 1.]))
    """
    if not (is_tensor(kept) and is_tensor(value) and kept.shape == value.shape):
        return value
    return kept.copy_(value)


def own_parameters(module: nn.Module, asked: Collection[str]) -> dict[str, torch.Tensor]:
    """Return a module's parameters, each under its first name or under its names in `asked`."""
    every = dict(module.named_parameters(remove_duplicate=False))
    first = dict(module.named_parameters())
    named = {id(tensor) for name, tensor in every.items() if name in asked}
    return {
        name: tensor
        for name, tensor in every.items()
        if name in asked or (name in first and id(tensor) not in named)
    }


STANDING_IN = 0.5  # the numbers of parameters that nobody asked for


def load_weights(
    module: nn.Module, parameters: Mapping[str, torch.Tensor], weights: dict[str, torch.Tensor]
) -> dict[str, Any]:
    """Copy weights into a module's parameters, and return the names that do not match.

    Parameters that nobody asked for, or of another shape, get fixed numbers, because a random start
    would hide what the code computes. Those that hold only 0, 1 or ±inf, such as a mask, keep them.

    parameters: the module's, by the stub's names. Returned are `missing`, `misshapen` (with the
    module's shapes), `unexpected`, and `tied`: by name, an earlier name of the same tensor.
    """
    missing: list[str] = []
    misshapen: dict[str, list[int]] = {}
    first: dict[int, str] = {}  # the names of tensors, by their id()
    tied: dict[str, str] = {}
    with torch.no_grad():
        for name, value in weights.items():
            target = parameters.get(name, tensor_attribute(module, name))
            if target is not None and first.setdefault(id(target), name) != name:
                tied[name] = first[id(target)]
            if target is None:
                missing.append(name)
            elif target.shape != value.shape:
                misshapen[name] = list(target.shape)
            else:
                target.copy_(value)
        unexpected = sorted(set(parameters) - set(weights))
        for target in (parameters.get(name) for name in (*unexpected, *misshapen)):
            if target is not None and not ((target == 0) | (target == 1) | target.isinf()).all():
                target.fill_(STANDING_IN)
    found = {"missing": missing, "misshapen": misshapen, "unexpected": unexpected}
    return found | ({"tied": tied} if tied else {})


def shapes(tensors: Mapping[str, torch.Tensor]) -> dict[str, list[int]]:
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def tensor_attribute(module: nn.Module, name: str) -> torch.Tensor | None:
    """Return the tensor at a dotted path of attributes, parameter or not; None if there is none."""
    owner: Any = module
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner if is_tensor(owner) else None
