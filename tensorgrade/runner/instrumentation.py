"""Observations of learner code from its own process: operations, modules, changed values.

They are claims, because learner code runs in the same process and could change them. They are used
in messages and decide few points. Results are judged in the trusted process.
"""

from collections import Counter
from typing import Any, Self

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from .values import CONTAINERS, Packer, Tree, special_kind


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

    A parameter is told as [shape, dtype, True if training can change it]. Training cannot change
    one that autograd has computed from other values.
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


class Snapshot:
    """The content of a value at one moment: of a container, or of an object's attributes."""

    def __init__(self, value: Any):
        self.value, self.text, self.tensors = value, *content_of(value)

    def changed(self) -> bool:
        """Return True if the content has changed since then, in any entry."""
        text, tensors = content_of(self.value, copies=False)
        return (text, tensors.keys()) != (self.text, self.tensors.keys()) or not all(
            before.dtype == tensors[place].dtype and torch.equal(before, tensors[place])
            for place, before in self.tensors.items()
        )


def content_of(value: Any, copies: bool = True) -> tuple[str, dict[str, torch.Tensor]]:
    """Return a value as text, and the tensors in it by place.

    Of objects inside it that are not plain values or containers, only the type is included.
    copies: copy the tensors. Otherwise return the tensors themselves, for a comparison at once.
    """
    tensors: dict[str, torch.Tensor] = {}

    def noted(place: str, tensor: torch.Tensor) -> Tree:
        if not special_kind(tensor):
            tensors[place] = tensor.detach().clone() if copies else tensor
        return {"tensor": place}

    names: list[str] = []
    if isinstance(value, nn.Module):
        held: dict[str, Any] = {}
        for prefix, part in value.named_modules():
            own = {n: v for n, v in vars(part).items() if not n.startswith("_")}
            own |= part._parameters | part._buffers
            held |= {f"{prefix}.{n}": v for n, v in own.items()}
        names, value = [*held], [*held.values()]
    elif hasattr(value, "__dict__") and not isinstance(value, (torch.Tensor, *CONTAINERS)):
        names, value = [*vars(value)], [*vars(value).values()]
    return repr((names, Packer(noted).pack(value, ""))), tensors
