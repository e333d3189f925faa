"""Compare a tensor with the reference, and describe where and how they differ."""

from dataclasses import dataclass

import torch

from ..course import Tolerance
from ..exchange.text import listed

# What people call the slices along each dimension of a tensor, by how many dimensions it has.
DIMENSIONS = {
    1: ("entry",),
    2: ("row", "column"),
    3: ("slice", "row", "column"),
    4: ("slice", "slice", "row", "column"),
}
PLURALS = {"entry": "entries", "row": "rows", "column": "columns", "slice": "slices"}


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


def where_they_differ(differs: torch.Tensor) -> tuple[str, str]:
    """Return which places of a mask are True, or else how many: one of the two is empty.

    >>> where_they_differ(torch.ones(3, 3).triu(1).bool())
    ('all differences are above the diagonal', '')
    """
    if differs.all():
        return "", "all entries differ"
    if found := on_a_side(differs) or in_slices(differs):
        return found, ""
    return "", f"{int(differs.sum())} of {differs.numel()} entries differ"


def on_a_side(differs: torch.Tensor) -> str:
    """Return the only side of the diagonal on which (stacked) square matrices differ, or ""."""
    if differs.ndim < 2 or differs.shape[-1] != differs.shape[-2]:
        return ""
    above, below = bool(differs.triu(1).any()), bool(differs.tril(-1).any())
    on = bool(differs.tril(0).triu(0).any())
    sides = {(True, False, False): "above", (False, True, False): "on"}
    sides |= {(False, False, True): "below", (False, True, True): "on or below"}
    side = sides.get((above, on, below))
    return f"all differences are {side} the diagonal" if side else ""


def in_slices(differs: torch.Tensor) -> str:
    """Return a clause if all differences, or all right values, are in a few slices; else "".

    A few are at most half of the slices along some dimension, such as rows or columns.
    """
    for dim in range(differs.ndim):
        hit = any_along(differs, dim)
        if 2 * int(hit.sum()) <= len(hit):
            return f"all differences are in {slices_along(dim, hit, differs.ndim)}"
        right = int((~hit).sum())
        if right and 2 * right <= len(hit):
            verb = "are" if right > 1 else "is"
            return f"only {slices_along(dim, ~hit, differs.ndim)} {verb} right"
    return ""


def any_along(mask: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a bool vector: True for each slice along a dimension with a True entry in the mask."""
    rest = [d for d in range(mask.ndim) if d != dim]
    return mask.any(dim=rest) if rest else mask


MOST_PLACES = 3  # learner code controls them, so a long list could reveal hidden inputs


def slices_along(dim: int, hit: torch.Tensor, rank: int) -> str:
    """Return the slices along a dimension at which a vector is True; at most the first few.

    >>> slices_along(1, torch.tensor([True, False, True]), rank=2)
    'columns `[:, 0]` and `[:, 2]`'
    """
    places = [int(place) for place in hit.nonzero().flatten()]
    told = [f"`{python_index(place, dim, rank)}`" for place in places[:MOST_PLACES]]
    more = [f"{len(places) - MOST_PLACES} more"] if len(places) > MOST_PLACES else []
    name = DIMENSIONS[rank][dim] if rank in DIMENSIONS else "slice"
    return f"{PLURALS[name] if len(places) > 1 else name} {listed(told + more)}"


def python_index(index: int, dim: int, rank: int) -> str:
    """Return what Python writes to take a slice along a dimension.

    >>> python_index(3, 0, 2), python_index(3, 1, 2), python_index(3, 3, 4)
    ('[3]', '[:, 3]', '[..., 3]')
    """
    before = "..., " if 1 < dim == rank - 1 else ":, " * dim
    return f"[{before}{index}]"
