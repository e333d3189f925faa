"""Whether a tensor agrees with the reference, and if not, in what way and where."""

from collections.abc import Sequence
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
    if actual.dtype == expected.dtype and torch.equal(actual, expected):  # NaN equals nothing
        return None
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


def where_they_differ(differs: torch.Tensor) -> str:
    """A sentence about the True places of a mask.

    >>> where_they_differ(torch.ones(3, 3).triu(1).bool())
    'every difference lies above the diagonal'
    """
    if differs.all():
        return "they differ everywhere"
    return triangle(differs) or slices(differs) or share(differs)


def where_nan(nan: torch.Tensor) -> str:
    """A sentence about the places of NaN, those at which a mask is True.

    >>> where_nan(torch.tensor([[True, True], [False, False]]))
    'NaN stands in row 0 alone (counted from 0)'
    """
    if nan.all():
        return "NaN stands everywhere"
    for dim in range(nan.ndim):
        rest = [d for d in range(nan.ndim) if d != dim]
        hit = nan.any(dim=rest) if rest else nan
        if 2 * int(hit.sum()) <= len(hit):
            return f"NaN stands in {places_along(dim, hit, nan.ndim)} alone{FROM_0}"
    return f"{int(nan.sum())} of {nan.numel()} entries are NaN"


def triangle(differs: torch.Tensor) -> str | None:
    """Whether a (stack of) square matrices differs only on one side of the diagonal."""
    if differs.ndim < 2 or differs.shape[-1] != differs.shape[-2]:
        return None
    if not differs.tril(0).any():
        return "every difference lies above the diagonal"
    if not differs.triu(0).any():
        return "every difference lies below the diagonal"
    if not (differs.triu(1) | differs.tril(-1)).any():
        return "every difference lies on the diagonal"
    if not differs.triu(1).any():
        return "every difference lies on or below the diagonal"
    return None


def slices(differs: torch.Tensor) -> str | None:
    """Whether only some rows, columns, … hold all differences."""
    for dim in range(differs.ndim):
        rest = [d for d in range(differs.ndim) if d != dim]
        hit = differs.any(dim=rest) if rest else differs
        if 2 * int(hit.sum()) <= len(hit):
            return f"all differences are in {places_along(dim, hit, differs.ndim)}{FROM_0}"
        if 2 * int((~hit).sum()) <= len(hit) and not hit.all():
            places = places_along(dim, ~hit, differs.ndim)
            # `index` of a dimension that has no name
            other = dimension_name(dim, differs.ndim).rpartition(", ")[2]
            return f"all is right in {places}, and in no other {other}{FROM_0}"
    return None


FROM_0 = " (counted from 0)"


def places_along(dim: int, hit: torch.Tensor, rank: int) -> str:
    """`row 2`, `columns 0 and 5`: where a vector along a dimension is True.

    >>> places_along(1, torch.tensor([True, False, True]), rank=2)
    'columns 0 and 2'
    """
    name, many = dimension_name(dim, rank), int(hit.sum()) > 1
    return f"{plural_of(name) if many and ', ' not in name else name} {listed_places(hit)}"


def plural_of(name: str) -> str:
    """`rows`, `entries`, `slices along dimension 4`."""
    if name.startswith("dimension"):
        return f"slices along {name}"
    return "entries" if name == "entry" else f"{name}s"


MOST_PLACES = 3  # a learner's code chooses them: a long list could tell what it has seen


def listed_places(hit: torch.Tensor) -> str:
    """Where a vector is True; of many places the first ones."""
    places = [int(place) for place in hit.nonzero().flatten()]
    if len(places) <= MOST_PLACES:
        return listed(places)
    return f"{', '.join(map(str, places[:MOST_PLACES]))} and {len(places) - MOST_PLACES} more"


def share(differs: torch.Tensor) -> str:
    """How many entries differ, where nothing tells which."""
    return f"{int(differs.sum())} of {differs.numel()} entries differ"


def tells_little(where: str) -> bool:
    """Whether a sentence on places only says how many there are."""
    return where.endswith((" differ", " everywhere", " are NaN")) or not where


def dimension_name(dim: int, rank: int) -> str:
    """What people call a dimension: column, row, and `index … of dimension 0` before those."""
    names = {1: ["entry"], 2: ["row", "column"], 3: ["batch row", "row", "column"]}
    names[4] = ["batch row", "block", "row", "column"]
    return names[rank][dim] if rank in names else f"dimension {dim}, index"


def listed(parts: Sequence[object]) -> str:
    """`0`, `0 and 2`, `0, 1 and 2` (counting from 0)."""
    words = [str(part) for part in parts]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
