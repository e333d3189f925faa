"""Whether a result is one of the inputs, as it came."""

import torch

from ..cases import Case


def echoes(case: Case, actual: torch.Tensor) -> str:
    """A sentence that names the input, or nothing."""
    for step in case.steps:
        for name, value in step.get("arguments", {}).items():
            if isinstance(value, dict) and "tensor" in value and same(actual, case.tensors[value["tensor"]]):
                return f"it is `{name}`, just as it was passed in"
    return ""


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal in shape and value, whatever the dtype; a single number says nothing."""
    return left.numel() > 1 and left.shape == right.shape and torch.equal(left.double(), right.double())
