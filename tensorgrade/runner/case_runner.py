"""Run cases on learner code: hold the objects that their steps create, and collect the results.

Objects stay in this process and are known outside by a handle. The steps are defined in steps.py.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from itertools import islice
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeGuard

import torch
from torch import nn

from .binding import Parameters, bound, by_name, in_order, parameters_of
from .errors import OutOfTime, describe_error
from .instrumentation import Snapshot
from .names import as_asked, match_parameters
from .torch_state import standard_torch
from .tracing import Recorder
from .values import (
    MOST_PARTS,
    MOST_TENSORS,
    Packer,
    Tree,
    is_tensor,
    special_kind,
    unpack,
)

KEYS = {"result": "as"}  # names of a step's fields in JSON, if they differ
MISMATCH = "Mismatch in shape:"  # prefix of torch's message that a gradient does not fit
# A header as JSON, and tensors by name.
Reply = tuple[dict[str, Any], dict[str, torch.Tensor]]


@dataclass(frozen=True, kw_only=True)
class Step(ABC):
    """A step of a case; its subclasses are the verbs.

    name, on, path: the target of the step. It is a definition of the file (`name`), an object that
        an earlier step created (`on`), or a part of that object at a dotted path.
    result: the name of the object or result.
    stages: True to record intermediate values. One such step is enough for the whole case.

    Class attributes describe how an author writes the step:
    about: the target if the author names none; "either": the exercise if no object is made yet.
    makes_object: True if the result is an object that later steps can have as their target.
    """

    about: ClassVar[Literal["object", "exercise", "either"]] = "object"
    makes_object: ClassVar[bool] = False

    name: str = ""
    on: str = ""
    path: str = ""
    result: str = ""
    stages: bool = False

    @property
    def verb(self) -> str:
        """Return the step's verb, such as `call` for a Call."""
        return type(self).__name__.lower()

    @abstractmethod
    def run(self, runner: "CaseRunner") -> None:
        """Execute the step; the runner stores the outcome."""

    def describe(self, arguments: str) -> str:
        """Return the step in words, given its arguments in words; "" if messages leave it out."""
        return ""

    def in_float32(self) -> "Step":
        """Return the step in float32, if it uses a dtype."""
        return self

    def encode(self) -> dict[str, Any]:
        """Return the step as a dict for JSON, without fields that have their default values."""
        told: dict[str, Any] = {"verb": self.verb}
        for one in fields(self):
            made = one.default_factory
            value = getattr(self, one.name)
            if value != (one.default if made is MISSING else made()):
                told[KEYS.get(one.name, one.name)] = value
        return told


class MissingName(Exception):
    """Raised if the learner's file does not define a name that the case calls."""


@dataclass(eq=False)
class CaseRunner:
    """A runner of cases on one learner's module.

    given: the names that the course's substitutes define, for steps with `given`.
    device: `cpu` or `cuda`; inputs and modules are moved there, and results come back to the CPU.
    misspelt: by requested name, the learner's misspelt name of the definition that counts as it.
    asked: the stub's parameters in their order, by the name of the callable.
    assigned: by the name of a callable whose parameters are in another order, the learner's
        parameter for each of the stub's.
    """

    module: ModuleType
    given: dict
    device: str = "cpu"
    misspelt: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, list[str]] = field(default_factory=dict)
    assigned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    # Each entry also holds its function. While that is alive, no other object has its id().
    parameters: dict[int, tuple[Callable, Parameters]] = field(default_factory=dict, init=False)

    def on(self, module: ModuleType) -> "CaseRunner":
        """Return the runner for another version of the learner's module."""
        return replace(self, module=module, misspelt={})

    def run_case(self, steps: Sequence[Step], tensors: dict[str, torch.Tensor]) -> Reply:
        """Run the steps in order; return (header, tensors) with the results reached.

        Learner code that creates float32 buffers cannot mix them with float64 inputs. The lowest
        float64 number, used as a mask value, overflows in float32. Such code is correct
        nevertheless. A case that ends in an error about dtypes, or in NaN, is therefore run again
        in float32.
        """
        with standard_torch():
            return self.fair_reply(steps, tensors)

    def fair_reply(self, steps: Sequence[Step], tensors: dict[str, torch.Tensor]) -> Reply:
        """Return the result of a case, computed in float32 if float64 itself causes the failure.

        Only after an error about dtypes are the results of dtype float32, which are compared with a
        more generous tolerance. Otherwise learners could get that by raising an error themselves.
        """
        reply = self.try_case(steps, tensors)
        error = reply[0]["error"]
        mixed = error is not None and bool(ABOUT_DTYPES.search(error["text"]))
        double = torch.float64 in {tensor.dtype for tensor in tensors.values()}
        coarse = [step.in_float32() for step in steps]
        if not (double or coarse != list(steps)) or not (mixed or has_nan(reply)):
            return reply
        tensors = {k: t.float() if t.dtype == torch.float64 else t for k, t in tensors.items()}
        header, results = again = self.try_case(coarse, tensors)
        if mixed:
            return again
        if header["error"] or has_nan(again):
            return reply
        # Converted to float64, so that the comparison is as strict as usual.
        exact = {n: t.double() if t.dtype == torch.float32 else t for n, t in results.items()}
        return header, exact

    def try_case(self, steps: Sequence[Step], tensors: dict[str, torch.Tensor]) -> Reply:
        """Run the steps once."""
        self.tensors = tensors
        traced = any(step.stages for step in steps)
        self.recorder = Recorder(str(self.module.__file__)) if traced else None
        self.objects: dict[str, Any] = {}
        self.made_of: dict[str, str] = {}  # by object, the requested name of its class
        self.returned: dict[str, Any] = {}  # by the names of the results, for later calls
        self.passed: dict[str, dict[str, Any]] = {}  # arguments, by the same names
        self.renamed: dict[str, dict[str, str]] = {}  # by object, the learner's names of parts
        self.header: dict[str, Any] = {"values": {}, "facts": {}, "error": None}
        self.results: dict[str, torch.Tensor] = {}
        for step in steps:
            try:
                step.run(self)
            except OutOfTime:
                raise
            except BaseException as error:  # an exit() in learner code is an error like any other
                self.header["error"] = describe_error(error, str(self.module.__file__))
                missing = str(error) if isinstance(error, MissingName) else None
                self.header["error"] |= {"verb": step.verb, "missing": missing}
                break
        return self.header, self.results

    def keep(self, name: str, value: object, kind: str = "") -> None:
        """Store a tensor, the parts of a list or tuple of tensors, or another value by name.

        kind: the name of the returned type, if the value has been converted to another type.
        """
        kind = kind or type(value).__name__
        if isinstance(value, Iterator):
            value = list(islice(value, MOST_PARTS + 1))
        if is_tensor(value) and (special := special_kind(value)):
            self.header["values"][name] = {"type": f"{special} tensor", "json": None}
        elif is_tensor(value) and len(self.results) < MOST_TENSORS:
            self.results[name] = value.detach().clone()
        elif is_list(value) and any(map(is_tensor, value)) and len(value) <= MOST_TENSORS:
            self.header["facts"].setdefault(name, {})["type"] = kind
            for index, part in enumerate(value):
                self.keep(f"{name}.{index}", part)
        else:
            told = Packer(self.keep_part).pack(value, name)
            self.header["values"][name] = {"type": kind, "json": told}

    def keep_part(self, place: str, tensor: torch.Tensor) -> Tree:
        """Store a tensor from inside another value; return a reference to it."""
        if special := special_kind(tensor):
            return {"unjudged": f"a {special} tensor"}
        if len(self.results) >= MOST_TENSORS:
            return {"unjudged": f"more than {MOST_TENSORS} tensors"}
        self.results[place] = tensor.detach().clone()
        return {"tensor": place}

    def call(self, function: Callable, arguments: dict, called: str = "") -> Any:
        """Call a function with arguments by position, unless they are assigned otherwise.

        called: the stub's name of the callable; empty if it has none. Raises TypeError if no
        parameter can take an argument.
        """
        parameters = self.parameters_of(function)
        order = self.asked.get(called, list(arguments))
        arguments = {name: arguments[name] for name in order if name in arguments} | arguments
        if not parameters:
            return function(*arguments.values())
        assign = in_order if called in self.asked else by_name
        assigned = self.assigned.get(called) or assign(order, parameters)
        positional, named = bound(function, parameters, assigned, arguments)
        return function(*positional, **named)

    def recording(
        self, facts: dict[str, Any], watched: Mapping[str, Snapshot]
    ) -> AbstractContextManager:
        """Return a context that records the code inside, if the case requests it."""
        return self.recorder.during(facts, watched) if self.recorder else nullcontext()

    def called_in(self, step: Step) -> str:
        """Return the stub's name of the callable of a step: `f`, or `Layer.forward`."""
        owner = self.made_of.get(step.on, "")
        return step.name or (f"{owner}.{step.path or 'forward'}" if owner else "")

    def parameters_of(self, function: Callable) -> Parameters:
        """Return the parameters of a function, class or module; cached, because this is slow."""
        is_module = isinstance(function, nn.Module)  # a call of it runs its `forward`
        code = getattr(function, "forward", function) if is_module else function
        known = getattr(code, "__func__", code)  # a bound method is a new object each time
        if id(known) not in self.parameters:
            self.parameters[id(known)] = known, parameters_of(code)
        return self.parameters[id(known)][1]

    def own_parameters(self) -> dict[str, list[tuple[str, str]]]:
        """Return (name, kind) of the learner's parameters, by the stub's name of the callable."""
        own = {}
        for called in self.asked:
            name, _, method = called.partition(".")
            found = vars(self.module).get(name)
            code = getattr(found, method, None) if method else found
            taken = parameters_of(code) if callable(code) else {}
            names = list(taken.items())[1 if method else 0 :]  # without `self`
            own[called] = [(name, parameter.kind.name) for name, parameter in names]
        return own

    def understood(self, renamed: dict[str, str]) -> None:
        """Record names that were accepted in place of requested names."""
        if renamed:
            names = self.header["facts"].setdefault("names", {})
            names.setdefault("understood", {}).update(renamed)

    def find(self, name: str, given: bool = False) -> Any:
        """Return a definition of the learner's file, or a substitute, by its name."""
        names = self.given if given else vars(self.module)
        if name not in names:
            raise MissingName(name)
        if not given and name in self.misspelt:
            self.understood({name: self.misspelt[name]})
        return names[name]

    def target(self, step: Step) -> Any:
        """Return a step's target: a definition of the file, an object, or a part of an object."""
        if step.name:
            return self.find(step.name)
        found = self.objects[step.on]
        for part in filter(None, step.path.split(".")):
            found = found[int(part)] if part.isdigit() else getattr(found, part)
        return found

    def resolve(self, value: Tree) -> Any:
        """Return an argument with copies of its tensors, so that changes stay in this call."""
        return unpack(
            value,
            lambda key: self.tensors[key].clone().to(self.device),
            self.held_under,
        )

    def held_under(self, handle: str) -> Any:
        """Return an object by its handle, or a result such as `first` or its part `first.1`."""
        if handle in self.objects:
            return self.objects[handle]
        name, *path = handle.split(".")
        found = self.returned[name]
        for place in path:
            found = found[int(place)]
        return found


def seed_everything(seed: int, device: str) -> None:
    """Seed the generators that are in use; torch.manual_seed would prepare all kinds of devices."""
    torch.default_generator.manual_seed(seed)
    if device != "cpu":
        torch.cuda.manual_seed(seed)


def load_weights(module: nn.Module, weights: dict[str, torch.Tensor]) -> tuple[dict, dict]:
    """Copy weights into a module's parameters of the same or a clearly corresponding name.

    Return the names that do not match, and the corresponding names by the requested ones. The
    former are `missing`, `misshapen` (with the module's shapes), `unexpected`, and `tied`: by name,
    an earlier name of the same tensor.
    """
    parameters = dict(module.named_parameters())
    renamed = match_parameters(shapes(weights), shapes(parameters))
    parameters = {as_asked(name, renamed): value for name, value in parameters.items()}
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
    found = {"missing": missing, "misshapen": misshapen, "unexpected": unexpected}
    return found | ({"tied": tied} if tied else {}), renamed


def shapes(tensors: Mapping[str, torch.Tensor]) -> dict[str, list[int]]:
    return {name: list(tensor.shape) for name, tensor in tensors.items()}


def tensor_attribute(module: nn.Module, name: str) -> torch.Tensor | None:
    """Return the tensor at a dotted path of attributes, parameter or not; None if there is none."""
    owner: Any = module
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner if is_tensor(owner) else None


def has_nan(reply: Reply) -> bool:
    """Return True if a case ended without an error and has NaN in a result."""
    header, results = reply
    floating = (t for t in results.values() if t.is_floating_point())
    return header["error"] is None and any(bool(t.isnan().any()) for t in floating)


def scattered(tensor: torch.Tensor) -> torch.Tensor:
    """Return an equal tensor that is not contiguous: in column order; a vector with gaps.

    >>> scattered(torch.ones(2, 3)).stride(), scattered(torch.ones(3)).stride()
    ((1, 2), (2,))
    """
    if tensor.dim() < 2:
        return torch.stack((tensor, tensor), dim=-1)[..., 0]
    return tensor.mT.contiguous().mT


@torch.no_grad()
def refilled(kept: object, value: Any) -> Any:
    """Write a value's numbers into a tensor that was passed before, and return that tensor.

    If they are not tensors of the same shape, return the value itself. This reveals code that
    caches a result by the identity of its input and does not notice that the content has changed.

    >>> kept = torch.zeros(2)
    >>> refilled(kept, torch.ones(2)) is kept, kept
    (True, tensor([1., 1.]))
    """
    if not (is_tensor(kept) and is_tensor(value) and kept.shape == value.shape):
        return value
    return kept.copy_(value)


# Some of torch's messages on dtypes name both ("Float did not match Double"). Others name the one
# for which a number is too large.
ABOUT_DTYPES = re.compile(
    r"dtype|scalar type|without overflow|float\b.*\bdouble\b|double\b.*\bfloat\b", re.I | re.S
)


def gradients(
    results: tuple[torch.Tensor, ...], leaves: list[torch.Tensor], seeds: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor | None, ...]:
    """Return the gradient of each leaf, or None for a leaf that no result depends on.

    seeds: the gradient with respect to each result.

    torch imports sympy to compare the shapes of a result and its gradient. To avoid that, this
    function compares them itself, with torch's message if they differ. It then differentiates a
    weighted sum, which needs no gradient argument.
    """
    if not all(result.is_floating_point() for result in results):
        return torch.autograd.grad(results, leaves, seeds, allow_unused=True)
    sums = []
    for number, (result, seed) in enumerate(zip(results, seeds, strict=True)):
        if result.shape != seed.shape:
            raise RuntimeError(
                f"{MISMATCH} grad_output[{number}] has a shape of {seed.shape} and "
                f"output[{number}] has a shape of {result.shape}."
            )
        sums.append((result * seed).sum())
    return torch.autograd.grad(sum(sums[1:], sums[0]), leaves, allow_unused=True)


def is_list(value: object) -> TypeGuard[list | tuple]:
    """Return True if the argument is a list or a tuple."""
    return isinstance(value, (list, tuple))


def parts_of(returned: Any) -> list | tuple:
    """Return the results of a call in order, whatever container they came in."""
    if isinstance(returned, dict):
        return list(returned.values())
    if is_dataclass(returned) and not isinstance(returned, type):
        return [getattr(returned, one.name) for one in fields(returned)]
    return returned if is_list(returned) else [returned]
