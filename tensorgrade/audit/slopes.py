"""Gradients, and their comparison with finite differences."""

from collections.abc import Callable

import torch
from torch import Tensor

STEP = 1e-5


def gradients(value: Tensor, leaves: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the gradients of `drawn_sum` of a result, by leaf; zeros for an unused leaf."""
    found = torch.autograd.grad(drawn_sum(value), [*leaves.values()], allow_unused=True)
    pairs = zip(leaves.items(), found, strict=True)
    return {name: torch.zeros_like(leaf) if g is None else g for (name, leaf), g in pairs}


def drawn_sum(value: Tensor) -> Tensor:
    """Return the sum of a result's entries, each times a fixed random number."""
    return (value * drawn_like(value)).sum()


def drawn_like(value: Tensor) -> Tensor:
    """Return normal numbers, the same for the same shape."""
    chance = torch.Generator().manual_seed(1)
    return torch.randn(value.shape, generator=chance, dtype=value.dtype)


def wrong_slope(
    run: Callable[[], Tensor], leaves: dict[str, Tensor], grads: dict[str, Tensor]
) -> str:
    """Return in words which gradient differs from finite differences, or an empty text.

    All gradients are compared together first, and one by one if they differ.
    """
    if agree(run, leaves, grads):
        return ""
    for name in leaves:
        if not agree(run, {name: leaves[name]}, {name: grads[name]}):
            return f"The gradient of `{name}` is not the slope of the results"
    return ""


def agree(run: Callable[[], Tensor], leaves: dict[str, Tensor], grads: dict[str, Tensor]) -> bool:
    """Return True if the slope in a drawn direction is that of the gradients.

    The slope is measured over two distances. If these slopes differ, because of rounding or a kink,
    the tolerance is larger.
    """
    ways = {name: drawn_like(leaf) for name, leaf in leaves.items()}
    ends = []
    for step in (2, -1, -2, -1):  # at 2, 1, -1 and -2 times STEP
        with torch.no_grad():
            for name, leaf in leaves.items():
                leaf.add_(step * STEP * ways[name])
        ends.append(float(drawn_sum(run()).detach()))
    with torch.no_grad():
        for name, leaf in leaves.items():
            leaf.add_(2 * STEP * ways[name])
    slope, far = (ends[1] - ends[2]) / (2 * STEP), (ends[0] - ends[3]) / (4 * STEP)
    expected = float(sum((grads[name] * ways[name]).sum() for name in leaves))
    size = sum(float((grads[name] * ways[name]).abs().sum()) for name in leaves)
    near = 1e-3 * max(abs(slope), abs(expected), 1e-2 * size, 1e-3)
    return abs(slope - expected) <= max(near, 20 * abs(slope - far))
