"""What can be seen of learner code from beside it: operations, state, the shapes on the way.

These are claims, since they come from the learner's own process: they word messages and carry
few points. Values are judged outside.
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
    """Counts what runs inside `with OperationCounter() as seen:`, and the numbers in its results.

    Operations of torch's core count by their name, calls of torch's Python functions as
    `call:name`: on the CPU, `F.dropout` leaves no operation of its own name.

    >>> with OperationCounter() as seen: _ = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> seen.counts["mm"], seen.counts["call:matmul"] + seen.counts["call:__matmul__"]
    (1, 1)
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.largest = 0  # numbers in the largest tensor that an operation gave
        self.calls = CallCounter(self.counts)

    def __enter__(self) -> Self:
        self.calls.__enter__()
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self.calls.__exit__(*exception)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Asked by newer torch, which else imports its compiler for the first operation seen."""
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
    """Counts calls of torch's Python functions as `call:name`."""

    def __init__(self, counts: Counter):
        super().__init__()
        self.counts = counts

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        self.counts[f"call:{getattr(func, '__name__', '?')}"] += 1
        return func(*args, **(kwargs or {}))


def describe_module(module: nn.Module) -> dict:
    """Parameters, buffers, submodules and plain tensor attributes of a module, by dotted name.

    A parameter is told with its shape, its dtype and whether an optimiser could change it, which
    it refuses where autograd has made the parameter a result of something else.
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
    """Dotted names of tensors, and of lists of modules, that torch does not know about."""
    return [
        f"{prefix}.{name}".lstrip(".")
        for prefix, owner in module.named_modules()
        for name, value in vars(owner).items()
        if isinstance(value, torch.Tensor) or is_plain_list_of_modules(value)
    ]


def is_plain_list_of_modules(value: object) -> bool:
    """Whether modules hide in a Python list, where `.parameters()` does not find them."""
    return isinstance(value, (list, tuple)) and any(isinstance(v, nn.Module) for v in value)


def dtype_name(tensor: torch.Tensor) -> str:
    """`float32` for `torch.float32`."""
    return str(tensor.dtype).removeprefix("torch.")


MOST = 60


class ShapeTrace:
    """Use as a context around a call. `steps` are [line, name, sizes], in the order in which they
    happened, for the tensors that the functions of one file bind to local names or return; and
    [line, name, number] for whole numbers: which of several sizes a name holds explains a shape.
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
        """Follow a function only if it stands in the learner's file."""
        if frame.f_code.co_filename != self.filename or len(self.steps) >= MOST:
            return None
        known: dict[str, object] = {}
        line = frame.f_lineno

        def follow(frame: FrameType, event: str, argument: Any) -> Callable:
            # A line is reported before it runs: what is new was made by the line before it.
            nonlocal line
            self.note(frame, known, line)
            line = frame.f_lineno
            if event == "return":
                self.note_return(argument, line)
            return follow

        return follow

    def note_return(self, returned: object, line: int) -> None:
        """Add the shape of a tensor that comes back."""
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
    """Use as a context around a call. `lines` tells of each value, by its name, after which line of
    one file it no longer is what it was. changed: tells that of a value when it is asked.
    """

    def __init__(self, filename: str, changed: Mapping[str, Callable[[], bool]]):
        super().__init__(filename)
        self.changed = changed
        self.lines: dict[str, int] = {}

    def note(self, frame: FrameType, known: dict[str, object], line: int) -> None:
        """Ask for those of which no line is known yet; within a call the inner line is first."""
        left = [name for name in self.changed if name not in self.lines]
        self.lines |= {name: line for name in left if self.changed[name]()}

    def note_return(self, returned: object, line: int) -> None:
        """Nothing: what comes back is not what was passed in."""
