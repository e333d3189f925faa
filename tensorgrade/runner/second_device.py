"""A second device that every machine has: what stays behind when a module is moved to it.

On torch's `meta` device nothing is computed, only shapes are; but where a tensor is counts as on a
GPU, and what a GPU refuses is refused here. What is said is a claim of the learner's process.
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
# A copy goes from one device to another; that is what it is for.
CROSSING = {"copy_", "_to_copy", "_copy_from"}
# What picks places out of a tensor may be on the CPU, wherever the tensor is.
PICKING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}


class TwoDevices(Exception):
    """An operation met tensors of two devices. left: what the learner calls the one left behind."""

    def __init__(self, left: str):
        super().__init__("tensors of two devices")
        self.left = left


class NotFound(Exception):
    """What was left behind is a weight that torch does not find, which is another mistake."""


class SecondDevice(TorchDispatchMode):
    """Inside `with SecondDevice(module, filename):` tensors of two devices never meet.

    module: it has been moved; filename: the learner's file. Raises TwoDevices in the learner's
    own line, NotFound where the tensor is a weight of a module in a plain list.

    >>> with SecondDevice(nn.Module(), "no file"):
    ...     torch.ones(2, device=DEVICE) + torch.ones(2)
    Traceback (most recent call last):
    tensorgrade.runner.second_device.TwoDevices: tensors of two devices
    """

    def __init__(self, module: nn.Module, filename: str):
        super().__init__()
        self.module, self.filename = module, filename
        # By the memory of what was made on the first device: the memory that it goes back to. The
        # tensors are kept, so that no memory is used twice.
        self.roots: dict[int, int] = {}
        self.kept: list[torch.Tensor] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        given = tensors_in((args, kwargs))
        left = left_behind(func.overloadpacket.__name__, given)
        if left is not None:
            if self.is_weight_of_a_part(left):
                raise NotFound
            raise TwoDevices(self.name_of(left))
        result = func(*args, **(kwargs or {}))
        self.follow(given, tensors_in(result))
        return result

    def follow(self, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        """Note what a new tensor of the first device was made of."""
        first = next((self.root(t) for t in given if on_first(t)), None)
        for tensor in filter(on_first, made):
            self.kept.append(tensor)
            self.roots.setdefault(memory(tensor), memory(tensor) if first is None else first)

    def root(self, tensor: torch.Tensor) -> int:
        """The memory of the tensor that this one goes back to."""
        return self.roots.get(memory(tensor), memory(tensor))

    def is_weight_of_a_part(self, left: torch.Tensor) -> bool:
        """Whether it was made of a weight of a module that is kept where torch does not look."""
        kept = (leaf for _, v in plain_attributes(self.module) for leaf in tree_leaves(v))
        weights = (w for part in kept if isinstance(part, nn.Module) for w in part.parameters())
        return any(goes_back_to(self, weight, self.root(left)) for weight in weights)

    def name_of(self, left: torch.Tensor) -> str:
        """`self.mask` or `mask`: what the learner's code calls a tensor, or what it was made of."""
        root = self.root(left)
        own = [(f"self.{name}", value) for name, value in plain_attributes(self.module)]
        frame = learner_frame(self.filename)
        local = list(frame.f_locals.items()) + list(frame.f_globals.items()) if frame else []
        return next((name for name, v in own + local if goes_back_to(self, v, root)), "")


def goes_back_to(mode: SecondDevice, value: object, root: int) -> bool:
    """Whether a value is a tensor of the first device that was made of this memory."""
    return isinstance(value, torch.Tensor) and on_first(value) and mode.root(value) == root


def left_behind(operation: str, given: list[torch.Tensor]) -> torch.Tensor | None:
    """The tensor that an operation cannot use beside the others, as torch has it.

    Single numbers may be on the CPU always, and so may what picks places.
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
    """Whether a tensor is not on the second device."""
    return tensor.device.type != DEVICE


def memory(tensor: torch.Tensor) -> int:
    """Where its numbers lie: a view lies where its tensor does."""
    return tensor.untyped_storage().data_ptr()


def plain_attributes(module: nn.Module) -> Iterator[tuple[str, object]]:
    """The attributes of a module and of all its parts that torch knows nothing of."""
    for part in module.modules():
        yield from vars(part).items()


def learner_frame(filename: str) -> FrameType | None:
    """The innermost frame that runs the learner's file."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame
