"""Whether a tensor agrees with the reference, and if not, in what way it first disagrees."""

from dataclasses import dataclass

import torch

from ..course import Tolerance


@dataclass(frozen=True)
class Disagreement:
    """The first thing that is wrong: `absent`, `shape`, `nan` or `values`.

    differs: a bool mask of the places, for `nan` and `values`.
    """

    kind: str
    differs: torch.Tensor | None = None


def disagreement(
    actual: torch.Tensor | None, expected: torch.Tensor, tolerances: dict[str, Tolerance]
) -> Disagreement | None:
    """None where `actual` agrees with `expected` (same shape, close values, no NaN).

    The tolerance is that of the coarser of the two dtypes: a right answer that passes through
    float32 on its way is right.

    >>> exact = {"float64": Tolerance(0, 0)}
    >>> disagreement(torch.zeros(2, 1).double(), torch.zeros(2).double(), exact).kind
    'shape'
    """
    if actual is None:
        return Disagreement("absent")
    if actual.shape != expected.shape:
        return Disagreement("shape")
    tolerance = coarsest(actual, expected, tolerances)
    actual, expected = actual.double(), expected.double()
    close = (actual - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
    close |= actual == expected  # equal infinities have no difference to measure
    if torch.isnan(actual).any():  # NaN is never close, not even to NaN
        return Disagreement("nan", ~close)
    return None if close.all() else Disagreement("values", ~close)


def coarsest(
    actual: torch.Tensor, expected: torch.Tensor, tolerances: dict[str, Tolerance]
) -> Tolerance:
    """The looser tolerance of the two dtypes; whole numbers and booleans must be equal."""
    names = (str(t.dtype).removeprefix("torch.") for t in (actual, expected))
    known = [tolerances[name] for name in names if name in tolerances]
    return max(known, key=lambda t: t.relative, default=Tolerance(0.0, 0.0))
