"""Simulate a second device, to find tensors that stay behind when a module is moved.

All numbers stay on the CPU. Tensors that a GPU would hold are remembered, and say that their device
is torch's `meta` device. The findings are claims of the learner's process.
"""

import traceback
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

from .tracing import name_of, tensors_in

FIRST, SECOND = torch.device("cpu"), torch.device("meta")
# Operations that may carry tensors from one device to another.
CROSSING = {"to", "type_as", "copy_"}


class TwoDevices(Exception):
    """An operation met tensors of two devices. left: the one left behind."""

    def __init__(self, left: torch.Tensor):
        super().__init__("tensors of two devices")
        self.left = left


class NotFound(Exception):
    """The tensor left behind is a weight that torch does not find, which is another mistake."""


class SecondDevice(TorchFunctionMode):
    """A context in which an operation with tensors of two devices raises TwoDevices.

    there: the tensors on the second device. The results of operations on them are there too.

    >>> with SecondDevice([x := torch.ones(2)]):
    ...     print(x.device, (x + 1).device)
    ...     x + torch.ones(2)
    Traceback (most recent call last):
    tensorgrade.runner.second_device.TwoDevices: tensors of two devices
    """

    def __init__(self, there: Iterable[torch.Tensor]):
        super().__init__()
        # By id(). The tensors are kept alive, so that no other object gets the same one.
        self.there = {id(tensor): tensor for tensor in there}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs, name = kwargs or {}, name_of(func)
        given = [*tensors_in((*args, *kwargs.values()))]
        is_there = any(map(self.holds, given))
        if name == "device" and is_there:
            return SECOND
        if (left := self.left_behind(name, args, given)) is not None:
            raise TwoDevices(left)
        asked = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.device)]
        args, kwargs = tree_map(lambda one: FIRST if one == SECOND else one, (args, kwargs))
        result = func(*args, **kwargs)
        if name == "copy_" or not (is_there if not asked else SECOND in asked):
            return result
        if name in CROSSING and not self.holds(result):
            result = result.clone()  # it may be the very tensor that was given
        self.there |= {id(tensor): tensor for tensor in tensors_in([result])}
        return result

    def holds(self, tensor: torch.Tensor) -> bool:
        """Return True if a tensor is on the second device."""
        return id(tensor) in self.there

    def left_behind(self, name: str, args: tuple, given: list[torch.Tensor]) -> torch.Tensor | None:
        """Return the tensor that a GPU would refuse in an operation because of its device, or None.

        Single numbers may always be on the CPU, and so may indices. What is assigned to a slice is
        copied.
        """
        if name in CROSSING or not any(map(self.holds, given)):
            return None
        if name in ("__getitem__", "__setitem__") and self.holds(args[0]):
            picks = [*tensors_in([args[1]])]
            given = [one for one in given if picks and not any(one is pick for pick in picks)]
        return next((one for one in given if not self.holds(one) and one.dim()), None)


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
