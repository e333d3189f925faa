"""Whether a result is a constant times the expected one, and where that constant comes from.

For public cases only: a ratio gives the expected values away.
"""

from collections.abc import Iterator

import torch

from ..cases import Case
from .places import dimension_name
from .sums import sums_to_one

STEADY = 1e-4


def ratios(case: Case, actual: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence, or nothing."""
    if actual.shape != expected.shape or not actual.is_floating_point():
        return ""
    factor = constant(actual.double(), expected.double())
    if factor is not None:
        return f"it is the expected result times {factor:.4g}{origin(factor, case)}"
    factor = sharpness(actual.double(), expected.double())
    if factor is not None:
        return f"it looks as if what goes into the softmax were {factor:.4g} times as large as it should be{origin(factor, case)}"
    return ""


def constant(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """The one factor between two tensors, if there is one (and more than a single number to tell).

    >>> constant(torch.tensor([2.0, 0, 4]), torch.tensor([1.0, 0, 2]))
    2.0
    """
    filled = expected != 0
    if filled.sum() < 2 or not torch.equal(filled, actual != 0) or not actual.isfinite().all():
        return None
    found = actual[filled] / expected[filled]
    middle = float(found.median())
    return middle if float((found - middle).abs().max()) < STEADY * abs(middle) else None


def sharpness(actual: torch.Tensor, expected: torch.Tensor) -> float | None:
    """For rows of weights: by what factor the logarithms' spread differs, if by one everywhere."""
    if actual.ndim == 0 or not (sums_to_one(actual, -1) and sums_to_one(expected, -1)):
        return None
    filled = expected > 0
    if not torch.equal(filled, actual > 0):
        return None
    return constant(spread(actual, filled), spread(expected, filled))


def spread(weights: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
    """Logarithms less their row's mean; 0 where there is no weight, or all alike."""
    logs = weights.where(filled, torch.ones_like(weights)).log()
    mean = logs.sum(dim=-1, keepdim=True) / filled.sum(dim=-1, keepdim=True)
    centred = (logs - mean).where(filled, torch.zeros_like(logs))
    return centred.where(centred.abs() > 1e-9, torch.zeros_like(centred))


def origin(factor: float, case: Case) -> str:
    """What a factor looks like among the numbers of a case: `, which is 1/sqrt(4); 4 is `d_k``."""
    if abs(factor + 1) < STEADY:
        return ": its sign is turned around"
    for number, meaning in numbers(case):
        for form, value in forms(number).items():
            if abs(factor - value) < STEADY * value:
                return f", which is {form}; {number:g} is {meaning}"
    return ""


def forms(number: float) -> dict[str, float]:
    """A number, its root, and what it is to divide by them."""
    n, root = f"{number:g}", number**0.5
    found = {n: number, f"1/{n}": 1 / number, f"sqrt({n})": root, f"1/sqrt({n})": 1 / root}
    if number < 1:
        found |= {f"1 - {n}": 1 - number, f"1/(1 - {n})": 1 / (1 - number)}
    return found


def numbers(case: Case) -> Iterator[tuple[float, str]]:
    """(number, what it is) for the numbers passed in, then for the sizes of the tensors."""
    passed = [item for step in case.steps for item in step.get("arguments", {}).items()]
    for name, value in passed:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 and value != 1:
            yield value, f"`{name}`"
    for name, value in passed:
        if isinstance(value, dict) and "tensor" in value:
            shape = case.tensors[value["tensor"]].shape
            for dim in reversed(range(len(shape))):
                if shape[dim] > 1:
                    yield shape[dim], f"the number of {counted(dim, len(shape))} of `{name}`"


def counted(dim: int, rank: int) -> str:
    """`rows`, `columns`, …"""
    name = dimension_name(dim, rank)
    return {"entry": "entries"}.get(name, f"{name}s")
