"""Compare a tensor with the reference, and describe where and how they differ."""

from dataclasses import dataclass

import torch

from ..course import Tolerance
from ..messages.message import Message
from ..messages.places import (
    DifferEverywhere,
    DifferOnlyIn,
    DifferOnSide,
    EntriesAreNaN,
    EntriesDiffer,
    NaNEverywhere,
    NaNOnlyIn,
    RightOnlyIn,
    Side,
    SomeSlices,
)


@dataclass(frozen=True)
class Disagreement:
    """The first fault found: `absent`, `shape`, `nan` or `values`.

    differs: a bool mask of the places, for `nan` and `values`.
    """

    kind: str
    differs: torch.Tensor | None = None


def disagreement(
    actual: torch.Tensor | None, expected: torch.Tensor, tolerances: dict[str, Tolerance]
) -> Disagreement | None:
    """Return None if `actual` agrees with `expected` (same shape, close values, no NaN).

    The tolerance is the looser one of the two dtypes, because an answer that computes in float32
    can be right. Two tensors of integers or booleans must be equal.

    >>> exact = {"float64": Tolerance(0, 0)}
    >>> disagreement(torch.zeros(2, 1).double(), torch.zeros(2).double(), exact).kind
    'shape'
    """
    if actual is None:
        return Disagreement("absent")
    if actual.shape != expected.shape:
        return Disagreement("shape")
    if actual.dtype == expected.dtype and torch.equal(actual, expected):  # NaN equals nothing
        return None
    if not any(one.is_floating_point() or one.is_complex() for one in (actual, expected)):
        differs = actual != expected  # not as doubles, in which large integers lose digits
        return Disagreement("values", differs) if differs.any() else None
    dtypes = (str(t.dtype).removeprefix("torch.") for t in (actual, expected))
    known = [tolerances[dtype] for dtype in dtypes if dtype in tolerances]
    tolerance = max(known, key=lambda t: t.relative, default=Tolerance(0.0, 0.0))
    actual, expected = actual.double(), expected.double()
    close = (actual - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
    close |= actual == expected  # equal infinities have no difference to measure
    if torch.isnan(actual).any():  # NaN is never close, not even to NaN
        return Disagreement("nan", ~close)
    return None if close.all() else Disagreement("values", ~close)


def where_they_differ(differs: torch.Tensor) -> Message:
    """Return a message about the True places of a mask.

    >>> where_they_differ(torch.ones(3, 3).triu(1).bool())
    DifferOnSide(side=<Side.ABOVE: 'above'>)
    """
    if differs.all():
        return DifferEverywhere()
    found = on_a_side(differs) or in_slices(differs)
    return found or EntriesDiffer(int(differs.sum()), differs.numel())


def where_nan(nan: torch.Tensor) -> Message:
    """Return a message about the places of NaN, the True ones of a mask.

    >>> where_nan(torch.tensor([[True, True], [False, False]]))
    NaNOnlyIn(places=SomeSlices(dim=0, rank=2, first=(0,), more=0))
    """
    if nan.all():
        return NaNEverywhere()
    for dim in range(nan.ndim):
        hit = any_along(nan, dim)
        if 2 * int(hit.sum()) <= len(hit):
            return NaNOnlyIn(slices_along(dim, hit, nan.ndim))
    return EntriesAreNaN(int(nan.sum()), nan.numel())


def on_a_side(differs: torch.Tensor) -> DifferOnSide | None:
    """Return the only side of the diagonal on which (stacked) square matrices differ, if any."""
    if differs.ndim < 2 or differs.shape[-1] != differs.shape[-2]:
        return None
    if not differs.tril(0).any():
        return DifferOnSide(Side.ABOVE)
    if not differs.triu(0).any():
        return DifferOnSide(Side.BELOW)
    if not (differs.triu(1) | differs.tril(-1)).any():
        return DifferOnSide(Side.ON)
    return None if differs.triu(1).any() else DifferOnSide(Side.ON_OR_BELOW)


def in_slices(differs: torch.Tensor) -> Message | None:
    """Return a message if all differences, or all right values, are in a few slices; else None.

    A few are at most half of the slices along some dimension, such as rows or columns.
    """
    for dim in range(differs.ndim):
        hit = any_along(differs, dim)
        if 2 * int(hit.sum()) <= len(hit):
            return DifferOnlyIn(slices_along(dim, hit, differs.ndim))
        if 2 * int((~hit).sum()) <= len(hit) and not hit.all():
            return RightOnlyIn(slices_along(dim, ~hit, differs.ndim))
    return None


def any_along(mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a bool vector: True for each slice along a dimension with a True entry in the mask."""
    rest = [d for d in range(mask.ndim) if d != dim]
    return mask.any(dim=rest) if rest else mask


MOST_PLACES = 3  # learner code controls them, so a long list could reveal hidden inputs


def slices_along(dim: int, hit: torch.Tensor, rank: int) -> SomeSlices:
    """Return the slices along a dimension at which a vector is True; at most the first few.

    >>> slices_along(1, torch.tensor([True, False, True]), rank=2)
    SomeSlices(dim=1, rank=2, first=(0, 2), more=0)
    """
    places = [int(place) for place in hit.nonzero().flatten()]
    return SomeSlices(dim, rank, tuple(places[:MOST_PLACES]), max(0, len(places) - MOST_PLACES))
