"""What can be seen of learner code from beside it: the operations it runs, the state it keeps.

These are claims, since they come from the learner's own process: they word messages and carry
few points. Values are judged outside.
"""

from collections import Counter

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class OperationCounter(TorchDispatchMode):
    """Counts what runs inside `with OperationCounter() as seen:`.

    Operations of torch's core count by their name, calls of torch's Python functions as
    `call:name`: on the CPU, `F.dropout` leaves no operation of its own name.

    >>> with OperationCounter() as seen: _ = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> seen.counts["mm"], seen.counts["call:matmul"] + seen.counts["call:__matmul__"]
    (1, 1)
    """

    def __init__(self):
        super().__init__()
        self.counts = Counter()
        self.calls = CallCounter(self.counts)

    def __enter__(self):
        self.calls.__enter__()
        return super().__enter__()

    def __exit__(self, *exception):
        super().__exit__(*exception)
        self.calls.__exit__(*exception)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


class CallCounter(TorchFunctionMode):
    """Counts calls of torch's Python functions as `call:name`."""

    def __init__(self, counts: Counter):
        super().__init__()
        self.counts = counts

    def __torch_function__(self, func, types, args=(), kwargs=None):
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
        "buffers": {
            name: [list(b.shape), dtype_name(b)] for name, b in module.named_buffers()
        },
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


def is_plain_list_of_modules(value) -> bool:
    """Whether modules hide in a Python list, where `.parameters()` does not find them."""
    return isinstance(value, (list, tuple)) and any(isinstance(v, nn.Module) for v in value)


def dtype_name(tensor: torch.Tensor) -> str:
    """`float32` for `torch.float32`."""
    return str(tensor.dtype).removeprefix("torch.")
