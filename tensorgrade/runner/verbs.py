"""The verbs of the wire: construct, duplicate, load, restore, mode, call, describe.

A case is a list of steps. Each step is one verb on an object that stays on this side and is
known outside by a handle. What a step returns is collected under the names the step asks for.
"""

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral
from types import ModuleType
from typing import Any, TypeGuard

import torch
from torch import nn

from .errors import OutOfTime, describe_error
from .stages import StageRecorder
from .torch_state import standard_torch
from .watching import OperationCounter, ShapeTrace, describe_module

# A header as JSON, and tensors by name.
Reply = tuple[dict[str, Any], dict[str, torch.Tensor]]


class MissingName(Exception):
    """The learner's file does not define what the case calls."""


class CaseRunner:
    """Runs cases on one learner's module.

    given: stand-ins of the course, for cases that ask for `given` names.
    device: `cpu` or `cuda`; inputs and modules are moved there, results come back to the CPU.
    """

    def __init__(self, module: ModuleType, given: dict, device: str = "cpu"):
        self.module, self.given, self.device = module, given, device

    def run_case(self, steps: list[dict], tensors: dict[str, torch.Tensor]) -> Reply:
        """Do the steps in order; returns (header, tensors) with whatever was reached.

        Code that makes float32 buffers of its own cannot be mixed with float64 inputs, and a
        mask of the least float64 overflows in them; both are right all the same. So what fails
        in float64 is asked again in float32.
        """
        with standard_torch():
            return self.fair_reply(steps, tensors)

    def fair_reply(self, steps: list[dict], tensors: dict[str, torch.Tensor]) -> Reply:
        """What a case gives; where float64 itself is what fails, what it gives in float32."""
        reply = self.try_case(steps, tensors)
        if not (in_float64(steps, tensors) and fails(reply)):
            return reply
        steps = [step | {"dtype": "float32"} if "dtype" in step else step for step in steps]
        tensors = {k: t.float() if t.dtype == torch.float64 else t for k, t in tensors.items()}
        again = self.try_case(steps, tensors)
        return reply if fails(again) and not is_dtype_mix(reply[0]["error"]) else again

    def try_case(self, steps: list[dict], tensors: dict[str, torch.Tensor]) -> Reply:
        """One run through the steps."""
        self.tensors = tensors
        self.recorder = recorder_for(steps, str(self.module.__file__))
        self.objects: dict[str, Any] = {}
        self.header: dict[str, Any] = {"values": {}, "facts": {}, "error": None}
        self.results: dict[str, torch.Tensor] = {}
        for step in steps:
            try:
                getattr(self, "do_" + step["verb"])(step)
            except OutOfTime:
                raise
            except BaseException as error:  # an exit() in learner code is an error like any other
                self.header["error"] = describe_error(error, str(self.module.__file__))
                self.header["error"] |= {"verb": step["verb"], "missing": missing_name(error)}
                break
        return self.header, self.results

    def do_construct(self, step: dict) -> None:
        """Make an object of a class and put it on the device in the dtype asked for."""
        seed_everything(step.get("seed", 0), self.device)
        with self.recorder or nullcontext():
            made = call(self.find(step["name"], step.get("given", False)), self.arguments(step))
            if isinstance(made, nn.Module):
                made = made.to(self.device, dtype=getattr(torch, step.get("dtype", "float32")))
        self.objects[step["as"]] = made

    def do_duplicate(self, step: dict) -> None:
        """Make a deep copy of an object."""
        self.objects[step["as"]] = copy.deepcopy(self.objects[step["on"]])

    def do_restore(self, step: dict) -> None:
        """Load into an object the state that another one saves."""
        state = copy.deepcopy(self.objects[step["source"]].state_dict())
        self.objects[step["on"]].load_state_dict(state)

    def do_load(self, step: dict) -> None:
        """Copy weights in by name; note the names that are missing, extra or of another shape."""
        weights = {name: self.tensors[key] for name, key in step["weights"].items()}
        self.header["facts"]["load"] = load_weights(self.objects[step["on"]], weights)

    def do_mode(self, step: dict) -> None:
        """Switch between training and evaluation."""
        self.objects[step["on"]].train(step["training"])

    def do_describe(self, step: dict) -> None:
        """Say what an object is made of, and give its parameters' values."""
        target = self.target(step)
        self.header["facts"][step["as"]] = describe_module(target)
        if step.get("state"):
            for name, value in target.named_parameters():
                self.keep(f"{step['as']}.{name}", value)

    def do_call(self, step: dict) -> None:
        """Call a function or module; keep what it returns, gradients and changed inputs."""
        seed_everything(step.get("seed", 0), self.device)
        arguments, leaves = self.fresh_arguments(step)
        before = {k: v.detach().clone() for k, v in arguments.items() if is_tensor(v)}
        watcher = OperationCounter() if step.get("watch") else None
        facts = self.header["facts"].setdefault(step["as"], {})
        returned: object = None
        try:
            with watcher or nullcontext(), self.recorder or nullcontext(), self.trace(step, facts):
                returned = call(self.target(step), arguments)
        finally:
            if self.recorder:
                self.header["facts"]["stages"] = self.recorder.told(returned)
                self.results |= self.recorder.tensors()
        name = step["as"]
        self.keep(name, returned)
        facts["changed"] = [k for k, v in before.items() if changed(v, arguments[k])]
        if watcher:
            facts["operations"] = dict(watcher.counts)
        if step.get("gradient"):
            self.keep_gradients(step, returned, leaves)

    @contextmanager
    def trace(self, step: dict, facts: dict) -> Iterator[None]:
        """Note the shapes on the way where the step asks for it, also of a call that fails."""
        if not step.get("trace"):
            yield
            return
        tracer = ShapeTrace(str(self.module.__file__))
        facts["trace"] = tracer.steps
        with tracer:
            yield

    def keep_gradients(self, step: dict, returned: object, leaves: dict) -> None:
        """Gradients of all results together with respect to inputs and parameters, by name."""
        outputs = returned if isinstance(returned, (tuple, list)) else [returned]
        if "on" in step:
            leaves |= dict(self.objects[step["on"]].named_parameters())
        wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
        # A learner may return more or less than was asked for: what has a partner is followed.
        pairs = [
            (out, self.tensors[key].to(out))
            for out, key in zip(outputs, step["gradient"], strict=False)
            if is_tensor(out) and out.requires_grad
        ]
        if not pairs:
            return
        results, seeds = zip(*pairs, strict=True)
        found = torch.autograd.grad(results, list(wanted.values()), seeds, allow_unused=True)
        for name, gradient in zip(wanted, found, strict=True):
            if gradient is not None:
                self.keep(f"gradient.{name}", gradient)

    def keep(self, name: str, value: object) -> None:
        """Keep a tensor, the parts of a tuple, or a JSON value under a name."""
        if is_tensor(value) and (special := special_kind(value)):
            self.header["values"][name] = {"type": f"{special} tensor", "json": None}
        elif is_tensor(value):
            self.results[name] = value.detach().clone()
        elif isinstance(value, (tuple, list)) and any(is_tensor(part) for part in value):
            for index, part in enumerate(value):
                self.keep(f"{name}.{index}", part)
        else:
            self.header["values"][name] = {"type": type(value).__name__, "json": jsonable(value)}

    def find(self, name: str, given: bool = False) -> Any:
        """A name of the learner's file, or of the stand-ins."""
        names = self.given if given else vars(self.module)
        if name not in names:
            raise MissingName(name)
        return names[name]

    def target(self, step: dict) -> Any:
        """What a step is about: a name of the file, an object, or a part of an object."""
        if "name" in step:
            return self.find(step["name"])
        found = self.objects[step["on"]]
        for part in filter(None, step.get("path", "").split(".")):
            found = found[int(part)] if part.isdigit() else getattr(found, part)
        return found

    def arguments(self, step: dict) -> dict:
        """A step's arguments with tensors and objects put in for their names."""
        return {name: self.resolve(value) for name, value in step["arguments"].items()}

    def resolve(self, value: Any) -> Any:
        if isinstance(value, dict) and "tensor" in value:
            return self.tensors[value["tensor"]].clone().to(self.device)
        if isinstance(value, dict) and "object" in value:
            return self.objects[value["object"]]
        return value

    def fresh_arguments(self, step: dict) -> tuple[dict, dict]:
        """Arguments, and the leaves whose gradients are asked for.

        Learner code gets a clone of the leaf: changing it in place is then unkind but no error.
        """
        arguments, leaves = self.arguments(step), {}
        if step.get("scattered"):
            arguments = {k: scattered(v) if is_tensor(v) else v for k, v in arguments.items()}
        for name, value in arguments.items():
            if name in step.get("constants", ()):
                continue
            if step.get("gradient") and is_tensor(value) and value.is_floating_point():
                leaves[name] = value.requires_grad_()
                arguments[name] = value.clone()
        return arguments, leaves


def recorder_for(steps: list[dict], filename: str) -> StageRecorder | None:
    """What writes down the values on the way, where a step asks for it."""
    return StageRecorder(filename) if any(step.get("stages") for step in steps) else None


def seed_everything(seed: int, device: str) -> None:
    """Seed the generators that are in use; torch.manual_seed prepares all kinds of devices."""
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        torch.cuda.manual_seed(seed)


def call(function: Callable, arguments: dict) -> Any:
    """Call by keyword; by position where the learner chose other names or it is a module."""
    if isinstance(function, nn.Module):
        return function(*arguments.values())
    try:
        inspect.signature(function).bind(**arguments)
    except (TypeError, ValueError):
        return function(*arguments.values())
    return function(**arguments)


def load_weights(module: nn.Module, weights: dict[str, torch.Tensor]) -> dict:
    """Copy in what fits, and report what does not: missing, of another shape, not asked for."""
    parameters = dict(module.named_parameters())
    missing: list[str] = []
    misshapen: dict[str, list[int]] = {}
    with torch.no_grad():
        for name, value in weights.items():
            target = parameters.get(name, tensor_attribute(module, name))
            if target is None:
                missing.append(name)
            elif target.shape != value.shape:
                misshapen[name] = list(target.shape)
            else:
                target.copy_(value)
    unexpected = sorted(set(parameters) - set(weights))
    return {"missing": missing, "misshapen": misshapen, "unexpected": unexpected}


def tensor_attribute(module: nn.Module, name: str) -> torch.Tensor | None:
    """A tensor kept as a plain attribute where a parameter was asked for."""
    owner: Any = module
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner if is_tensor(owner) else None


def in_float64(steps: list[dict], tensors: dict[str, torch.Tensor]) -> bool:
    """Whether anything of a case is float64."""
    return any(step.get("dtype") == "float64" for step in steps) or any(
        tensor.dtype == torch.float64 for tensor in tensors.values()
    )


def fails(reply: Reply) -> bool:
    """Whether a case ended in an error of what the file defines, or in NaN."""
    header, results = reply
    if header["error"] is not None:
        return not header["error"]["missing"]
    return any(bool(t.isnan().any()) for t in results.values() if t.is_floating_point())


def scattered(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, laid out in memory by columns; those of a vector with gaps.

    >>> scattered(torch.ones(2, 3)).stride(), scattered(torch.ones(3)).stride()
    ((1, 2), (2,))
    """
    if tensor.dim() < 2:
        return torch.stack((tensor, tensor), dim=-1)[..., 0]
    return tensor.mT.contiguous().mT


def is_dtype_mix(error: dict | None) -> bool:
    """Whether an error says that tensors of different dtypes met."""
    text = (error or {}).get("text", "")
    return "dtype" in text or "scalar type" in text


def is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor)


def special_kind(tensor: torch.Tensor) -> str:
    """What keeps a tensor from being stored as plain numbers, in a word; empty where nothing does.

    >>> special_kind(torch.eye(2).to_sparse()), special_kind(torch.eye(2))
    ('sparse', '')
    """
    kinds = {
        "nested": tensor.is_nested,
        "quantized": tensor.is_quantized,
        "meta": tensor.is_meta,
        "sparse": tensor.layout != torch.strided,
        "complex": tensor.is_complex() and tensor.dtype != torch.complex64,
    }
    return next((kind for kind, applies in kinds.items() if applies), "")


def changed(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether a tensor is no longer what it was, bit by bit in effect."""
    return before.shape != after.shape or not torch.equal(before, after.detach())


def jsonable(value: Any, depth: int = 3) -> Any:
    """Numbers, strings, lists and dicts as they are (tuples as lists); anything else as None."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Integral):  # NumPy's whole numbers too
        return int(value)
    if depth and isinstance(value, (list, tuple)):
        return [jsonable(part, depth - 1) for part in value]
    if depth and isinstance(value, dict):
        return {str(key): jsonable(part, depth - 1) for key, part in value.items()}
    return None


def missing_name(error: BaseException) -> str | None:
    return str(error) if isinstance(error, MissingName) else None
