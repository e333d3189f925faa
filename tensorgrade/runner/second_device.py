"""Simulate a second device, to find tensors that stay behind when a module is moved.

The device is torch's `meta` device, which every machine has. It computes only shapes. The findings
are claims of the learner's process.
"""

import traceback
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
    """An operation met tensors of two devices. left: the one left behind."""

    def __init__(self, left: torch.Tensor):
        super().__init__("tensors of two devices")
        self.left = left


class NotFound(Exception):
    """The tensor left behind is a weight that torch does not find, which is another mistake."""


class SecondDevice(TorchDispatchMode):
    """A context in which an operation with tensors of two devices raises TwoDevices.

    torch refuses only some of these operations on its `meta` device.

    >>> with SecondDevice():
    ...     torch.ones(2, device=DEVICE) + torch.ones(2)
    Traceback (most recent call last):
    tensorgrade.runner.second_device.TwoDevices: tensors of two devices
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        left = left_behind(func.overloadpacket.__name__, given)
        if left is not None:
            raise TwoDevices(left)
        return func(*args, **(kwargs or {}))


def left_behind(operation: str, given: list[torch.Tensor]) -> torch.Tensor | None:
    """Return the tensor that a GPU would refuse in an operation because of its device, or None.

    Single numbers may always be on the CPU, and so may indices.
    """
    if operation in CROSSING or all(tensor.device.type != DEVICE for tensor in given):
        return None
    if operation in PICKING and given[0].device.type == DEVICE:
        picked = {torch.bool, torch.uint8, torch.int32, torch.int64}
        given = [tensor for tensor in given if tensor.dtype not in picked]
    return next((one for one in given if one.device.type != DEVICE and one.dim()), None)


def name_left(error: TwoDevices, module: nn.Module, filename: str) -> str:
    """Return the learner's name of the tensor left behind, such as `self.mask` or `mask`.

    The name is empty if no attribute of the module and no variable of the innermost frame in the
    learner's file has the tensor's memory. Raises NotFound if it is a weight in a module that torch
    does not find, such as one in a list.
    """
    attributes = [item for part in module.modules() for item in vars(part).items()]
    leaves = (leaf for _, value in attributes for leaf in tree_leaves(value))
    parts = (leaf for leaf in leaves if isinstance(leaf, nn.Module))
    if any(is_same(error.left, weight) for part in parts for weight in part.parameters()):
        raise NotFound
    names = [(f"self.{name}", value) for name, value in attributes]
    for frame, _ in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code.co_filename == filename:
            names += [*frame.f_locals.items(), *frame.f_globals.items()]
            break
    return next((name for name, value in names if is_same(error.left, value)), "")


def is_same(left: torch.Tensor, value: object) -> bool:
    """Return True if a value is a tensor on the CPU with the same memory."""
    return (
        isinstance(value, torch.Tensor)
        and value.device == left.device
        and value.untyped_storage().data_ptr() == left.untyped_storage().data_ptr()
    )
