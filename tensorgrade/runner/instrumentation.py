"""Observations of learner code from its own process: operations, state, intermediate shapes.

They are claims, because learner code runs in the same process and could change them. They are used
in messages and decide few points. Results are judged in the trusted process.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class OperationCounter(TorchDispatchMode):
    """A counter of operations inside `with OperationCounter() as seen:`, and of the largest result.

    Operations of torch's core count by their name, calls of torch's Python functions as
    `call:name`. On the CPU, `F.dropout` runs no operation of its own name.

    >>> with OperationCounter() as seen: _ = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> seen.counts["mm"], seen.counts["call:matmul"] + seen.counts["call:__matmul__"]
    (1, 1)
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.largest = 0  # numbers in the largest tensor that an operation returned
        self.calls = CallCounter(self.counts)

    def __enter__(self) -> Self:
        self.calls.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.calls.__exit__(*exception)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False; without this, newer torch imports its compiler for the first operation."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.counts[func.overloadpacket.__name__] += 1
        made = func(*args, **(kwargs or {}))
        parts = made if isinstance(made, (tuple, list)) else (made,)
        sizes = [part.numel() for part in parts if isinstance(part, torch.Tensor)]
        self.largest = max(self.largest, *sizes, 0)
        return made


class CallCounter(TorchFunctionMode):
    """A counter of calls of torch's Python functions, as `call:name`."""

    def __init__(self, counts: Counter):
        super().__init__()
        self.counts = counts
        self.tracked = False  # True if a result can give gradients

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.counts[f"call:{getattr(func, '__name__', '?')}"] += 1
        made = func(*args, **(kwargs or {}))
        self.tracked = self.tracked or (isinstance(made, torch.Tensor) and bool(made.grad_fn))
        return made


def describe_module(module: nn.Module) -> dict:
    """Return the parameters, buffers, submodules and plain tensors of a module, by dotted name.

    Each parameter has its shape, its dtype, and a bool that is True if training can change it.
    Training cannot change a parameter that autograd has computed from other values.
    """
    return {
        "type": type(module).__name__,
        "parameters": {
            name: [list(p.shape), dtype_name(p), p.requires_grad and p.is_leaf]
            for name, p in module.named_parameters()
        },
        "buffers": {name: [list(b.shape), dtype_name(b)] for name, b in module.named_buffers()},
        "modules": {name: type(m).__name__ for name, m in module.named_modules() if name},
        "attributes": plain_tensors(module),
    }


def plain_tensors(module: nn.Module) -> list[str]:
    """Return dotted names of tensors, and of lists of modules, that torch does not register."""
    found = []
    for prefix, owner in module.named_modules():
        for name, value in vars(owner).items():
            # `.parameters()` does not find modules in a Python list.
            parts = value if isinstance(value, (list, tuple)) else ()
            if isinstance(value, torch.Tensor) or any(isinstance(p, nn.Module) for p in parts):
                found.append(f"{prefix}.{name}".lstrip("."))
    return found


def dtype_name(tensor: torch.Tensor) -> str:
    """Return a dtype's name, such as `float32` for `torch.float32`."""
    return str(tensor.dtype).removeprefix("torch.")


MOST = 60


class ShapeTrace:
    """A context around a call that records shapes.

    steps: [line, name, sizes] for tensors that the functions of one file bind to local names or
    return, in the order of execution. Integers give [line, name, number], because the number helps
    to explain a shape.
    """

    def __init__(self, filename: str):
        self.filename = filename
        self.steps: list[list] = []

    def __enter__(self) -> Self:
        self.before = sys.gettrace()
        sys.settrace(self.enter)
        return self

    def __exit__(self, *exception: Any) -> None:
        sys.settrace(self.before)

    def enter(self, frame: FrameType, event: str, argument: Any) -> Callable | None:
        """Trace a function only if it is in the learner's file."""
        if frame.f_code.co_filename != self.filename or len(self.steps) >= MOST:
            return None
        known: dict[str, object] = {}
        line = frame.f_lineno

        def follow(frame: FrameType, event: str, argument: Any) -> Callable:
            # A line is reported before it runs, so a new value comes from the previous line.
            nonlocal line
            self.note(frame, known, line)
            line = frame.f_lineno
            if event == "return":
                self.note_return(argument, line)
            return follow

        return follow

    def note_return(self, returned: object, line: int) -> None:
        """Add the shape of a returned tensor."""
        if isinstance(returned, torch.Tensor):
            self.steps.append([line, "return", list(returned.shape)])

    def note(self, frame: FrameType, known: dict[str, object], line: int) -> None:
        """Add the local tensors that are new, or have another shape, since the last line."""
        for name, value in list(frame.f_locals.items()):
            if type(value) is int and known.get(name) != value:
                known[name] = value
                self.steps.append([line, name, value])
            if isinstance(value, torch.Tensor) and known.get(name) != (id(value), value.shape):
                known[name] = (id(value), value.shape)
                self.steps.append([line, name, list(value.shape)])


class ChangeTrace(ShapeTrace):
    """A context around a call that records the lines that change values.

    lines: for each value, by its name, the line of one file after which it was changed. changed: by
    name, a function that returns True if the value has changed.
    """

    def __init__(self, filename: str, changed: Mapping[str, Callable[[], bool]]):
        super().__init__(filename)
        self.changed = changed
        self.lines: dict[str, int] = {}

    def note(self, frame: FrameType, known: dict[str, object], line: int) -> None:
        """Store the line for values that have changed and have no line yet.

        In nested calls the inner line is stored, because it is reported first.
        """
        left = [name for name in self.changed if name not in self.lines]
        self.lines |= {name: line for name in left if self.changed[name]()}

    def note_return(self, returned: object, line: int) -> None:
        """Do nothing, because a returned value is not an input."""
