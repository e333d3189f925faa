"""Simulate a second device, to find tensors that stay behind when a module is moved.

The device is torch's `meta` device, which every machine has. It computes only shapes. As with a
GPU, each tensor is on one device, and operations across devices are refused. The findings are
claims of the learner's process.
"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

DEVICE = "meta"
# Copies from one device to another are allowed.
CROSSING = {"copy_", "_to_copy", "_copy_from"}
# Indices may always be on the CPU.
PICKING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}


class TwoDevices(Exception):
    """An operation met tensors of two devices. left: the learner's name of the one left behind."""

    def __init__(self, left: str):
        super().__init__("tensors of two devices")
        self.left = left


class NotFound(Exception):
    """The tensor left behind is a weight that torch does not find, which is another mistake."""


class SecondDevice(TorchDispatchMode):
    """A context in which an operation with tensors of two devices raises an error.

    module: the module that has been moved. filename: the learner's file. The error is TwoDevices,
    or NotFound if the tensor that stayed is a weight of a module that torch does not find, such as
    one in a list.

    >>> with SecondDevice(nn.Module(), "no file"):
    ...     torch.ones(2, device=DEVICE) + torch.ones(2)
    Traceback (most recent call last):
    tensorgrade.runner.second_device.TwoDevices: tensors of two devices
    """

    def __init__(self, module: nn.Module, filename: str):
        super().__init__()
        self.module, self.filename = module, filename
        # By the memory address of each new tensor on the first device, that of the tensor from
        # which it was computed first. The tensors are kept alive, so that no address is reused.
        self.roots: dict[int, int] = {}
        self.kept: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        given = tensors_in((args, kwargs))
        left = left_behind(func.overloadpacket.__name__, given)
        if left is not None:
            # It may come from a weight of a module that torch does not find.
            kept = (leaf for _, v in plain_attributes(self.module) for leaf in tree_leaves(v))
            weights = (w for part in kept if isinstance(part, nn.Module) for w in part.parameters())
            if any(goes_back_to(self, weight, self.root(left)) for weight in weights):
                raise NotFound
            raise TwoDevices(self.name_of(left))
        result = func(*args, **(kwargs or {}))
        self.follow(given, tensors_in(result))
        return result

    def follow(self, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        """Record the origin of each new tensor on the first device."""
        first = next((self.root(t) for t in given if on_first(t)), None)
        for tensor in filter(on_first, made):
            self.kept.append(tensor)
            self.roots.setdefault(memory(tensor), memory(tensor) if first is None else first)

    def root(self, tensor: torch.Tensor) -> int:
        """Return the memory address of the first tensor from which this one was computed."""
        return self.roots.get(memory(tensor), memory(tensor))

    def name_of(self, left: torch.Tensor) -> str:
        """Return the learner's name of a tensor or of its origin, such as `self.mask` or `mask`."""
        root = self.root(left)
        own = [(f"self.{name}", value) for name, value in plain_attributes(self.module)]
        frame = learner_frame(self.filename)
        local = list(frame.f_locals.items()) + list(frame.f_globals.items()) if frame else []
        return next((name for name, v in own + local if goes_back_to(self, v, root)), "")


def goes_back_to(mode: SecondDevice, value: object, root: int) -> bool:
    """Return True if a value is a tensor of the first device with this origin."""
    return isinstance(value, torch.Tensor) and on_first(value) and mode.root(value) == root


def left_behind(operation: str, given: list[torch.Tensor]) -> torch.Tensor | None:
    """Return the tensor that torch would refuse in an operation because of its device, or None.

    Single numbers may always be on the CPU, and so may indices.
    """
    if operation in CROSSING or not any(tensor.device.type == DEVICE for tensor in given):
        return None
    if operation in PICKING and not on_first(given[0]):
        picked = {torch.bool, torch.uint8, torch.int32, torch.int64}
        given = [tensor for tensor in given if tensor.dtype not in picked]
    return next((tensor for tensor in given if on_first(tensor) and tensor.dim()), None)


def tensors_in(value: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def on_first(tensor: torch.Tensor) -> bool:
    """Return True if a tensor is not on the second device."""
    return tensor.device.type != DEVICE


def memory(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's numbers, which a view shares with its tensor."""
    return tensor.untyped_storage().data_ptr()


def plain_attributes(module: nn.Module) -> Iterator[tuple[str, object]]:
    """Yield the attributes of a module and its submodules, including those unknown to torch."""
    for part in module.modules():
        yield from vars(part).items()


def learner_frame(filename: str) -> FrameType | None:
    """Return the innermost frame that runs the learner's file; None if there is none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame
