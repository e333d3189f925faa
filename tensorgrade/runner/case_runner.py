"""What a case works on: a learner's module, the objects that steps create, and the results.

Objects stay in this process and are known outside by a handle. cases.py runs the steps.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import torch

from .instrumentation import Snapshot
from .names import Assignment, argument_ways, bound, parameters_of
from .step import Step
from .tracing import Recorder
from .values import MOST_TENSORS, Packer, Tree, is_tensor, special_kind, unpack

# A header as JSON, and tensors by name.
Reply = tuple[dict[str, Any], dict[str, torch.Tensor]]


class MissingName(Exception):
    """Raised if the learner's file does not define a name that the case calls."""


@dataclass(eq=False)
class CaseRunner:
    """A runner of cases on one learner's module.

    given: the names that the course's substitutes define, for steps with `given`.
    device: `cpu` or `cuda`; inputs and modules are moved there, and results come back to the CPU.
    asked: the stub's parameters in their order, by the name of the callable.
    assigned: the learner's names that stand for the stub's, as far as they are decided.
    deciding: True while names are being decided. Then tensors that nobody asked for are 0.
    """

    module: ModuleType
    given: dict
    device: str = "cpu"
    asked: Mapping[str, list[str]] = field(default_factory=dict)
    assigned: Assignment = field(default_factory=Assignment)
    deciding: bool = False

    def begin(self, tensors: dict[str, torch.Tensor], traced: bool) -> None:
        """Begin a case with these tensors. traced: True to record what happens inside its calls."""
        self.tensors = tensors
        self.recorder = Recorder(str(self.module.__file__)) if traced else None
        self.objects: dict[str, Any] = {}
        self.made_of: dict[str, str] = {}  # by object, the requested name of its class
        self.returned: dict[str, Any] = {}  # by the names of the results, for later calls
        self.passed: dict[str, dict[str, Any]] = {}  # arguments, by the same names
        # By object, the stub's names of its parts and tensors, by the learner's names.
        self.renamed: dict[str, dict[str, str]] = {}
        self.header: dict[str, Any] = {"values": {}, "facts": {}, "error": None}
        self.results: dict[str, torch.Tensor] = {}

    def recording(
        self, facts: dict[str, Any], watched: Mapping[str, Snapshot]
    ) -> AbstractContextManager:
        """Return a context that records the code inside, if the case requests it."""
        return self.recorder.during(facts, watched) if self.recorder else nullcontext()

    def keep(self, name: str, value: object, kind: str = "") -> None:
        """Store a tensor, the parts of a list or tuple of tensors, or another value by name.

        kind: the name of the returned type, if the value has been converted to another type.
        """
        kind = kind or type(value).__name__
        if is_tensor(value) and (special := special_kind(value)):
            self.header["values"][name] = {"type": f"{special} tensor", "json": None}
        elif is_tensor(value) and len(self.results) < MOST_TENSORS:
            self.results[name] = value.detach().clone()
        elif (
            isinstance(value, (list, tuple))
            and any(map(is_tensor, value))
            and len(value) <= MOST_TENSORS
        ):
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
        """Call a function with arguments as they are assigned, or in the most plausible way.

        called: the stub's name of the callable; empty if it has none. Raises TypeError if no
        parameter can take an argument.
        """
        parameters = parameters_of(function)
        order = self.asked.get(called, list(arguments))
        arguments = {name: arguments[name] for name in order if name in arguments} | arguments
        if not parameters:
            return function(*arguments.values())
        assigned = self.assigned.arguments.get(called) or argument_ways(order, parameters)[0]
        positional, named = bound(function, parameters, assigned, arguments)
        return function(*positional, **named)

    def called_in(self, step: Step) -> str:
        """Return the stub's name of the callable of a step: `f`, or `Layer.forward`."""
        owner = self.made_of.get(step.on, "")
        return step.name or (f"{owner}.{step.path or 'forward'}" if owner else "")

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

    def note_names(self, handle: str, own: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Report the shapes of an object whose names differ, and its names by the stub's."""
        told = self.header["facts"].setdefault("names", {"own": {}, "understood": {}})
        told["own"][handle] = own
        told["understood"] |= {asked: there for there, asked in names.items() if there != asked}

    def find(self, name: str, given: bool = False) -> Any:
        """Return a definition of the learner's file, or a substitute, by its name."""
        names = self.given if given else vars(self.module)
        if name not in names:
            raise MissingName(name)
        return names[name]

    def target(self, step: Step) -> Any:
        """Return a step's target: a definition of the file, an object, or a part of an object."""
        if step.name:
            return self.find(step.name)
        found = self.objects[step.on]
        for part in filter(None, step.path.split(".")):
            found = found[int(part)] if part.isdigit() else getattr(found, part)
        return found

    def values(self, step: Step) -> dict[str, Any]:
        """Return a step's arguments, with copies of its tensors so that changes stay in this call.

        Objects are filled in for their handles.
        """

        def copied(key: str) -> torch.Tensor:
            return self.tensors[key].clone().to(self.device)

        return {name: unpack(v, copied, self.held_under) for name, v in step.arguments.items()}

    def held_under(self, handle: str) -> Any:
        """Return an object by its handle, or a result such as `first` or its part `first.1`."""
        if handle in self.objects:
            return self.objects[handle]
        name, *path = handle.split(".")
        found = self.returned[name]
        for place in path:
            found = found[int(place)]
        return found
