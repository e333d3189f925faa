"""Whether a result holds the right numbers in another order. For public cases only."""

from itertools import permutations

import torch

from ..cases import spoken_shape
from .places import dimension_name, listed


def reordered(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence on how the expected values would have to be moved to give these; or nothing.

    >>> reordered(torch.tensor([[3.0, 4], [1, 2]]), torch.tensor([[1.0, 2], [3, 4]]))
    'it has the right rows in another order: 1 and 0'
    """
    if actual.numel() != expected.numel() or actual.numel() < 2:
        return ""
    actual, expected = actual.double(), expected.double()
    if actual.shape == expected.shape and torch.allclose(actual, expected, atol=1e-5):
        return ""
    found = swapped(actual, expected) or reshaped(actual, expected)
    if not found and actual.shape == expected.shape:
        found = shuffled(actual, expected)
    return found or scattered(actual, expected)


def swapped(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether dimensions have changed places."""
    if actual.ndim != expected.ndim or actual.ndim > 4:
        return ""
    for order in list(permutations(range(actual.ndim)))[1:]:
        turned = expected.permute(order)
        if turned.shape == actual.shape and torch.allclose(turned, actual, atol=1e-5):
            moved = [d for d, place in enumerate(order) if d != place]
            return f"it is right but for its dimensions {listed(moved)}, which have changed places"
    return ""


def reshaped(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the numbers are right, in order, in another shape."""
    if actual.shape == expected.shape or not torch.allclose(actual.flatten(), expected.flatten(), atol=1e-5):
        return ""
    return f"its numbers are right and in order; only the shape should be {spoken_shape(expected.shape)}"


def shuffled(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the slices along one dimension are right but in another order."""
    for dim in range(actual.ndim):
        order = order_of(actual.movedim(dim, 0), expected.movedim(dim, 0))
        if order and order != sorted(order):
            name = dimension_name(dim, actual.ndim).removesuffix(", index")
            return f"it has the right {plural_of(name)} in another order: {listed(order)}"
    return ""


def order_of(actual: torch.Tensor, expected: torch.Tensor) -> list[int] | None:
    """Which expected slice stands at each place; None where one is no expected slice."""
    order = []
    for part in actual:
        found = [i for i, other in enumerate(expected) if torch.allclose(part, other, atol=1e-5)]
        if len(found) != 1 or found[0] in order:
            return None
        order += found
    return order


def scattered(actual: torch.Tensor, expected: torch.Tensor) -> str:
    """Whether the same numbers are there, in whatever places."""
    same = torch.allclose(actual.flatten().sort().values, expected.flatten().sort().values, atol=1e-5)
    return "its numbers are right but stand in other places" if same else ""


def plural_of(name: str) -> str:
    """`rows`, `entries`, `slices along dimension 4`."""
    if name.startswith("dimension"):
        return f"slices along {name}"
    return "entries" if name == "entry" else f"{name}s"
