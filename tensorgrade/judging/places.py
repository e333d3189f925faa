"""Says in one sentence where two tensors differ."""

import torch


def where_they_differ(differs: torch.Tensor) -> str:
    """A sentence about the True places of a mask.

    >>> where_they_differ(torch.ones(3, 3).triu(1).bool())
    'every difference lies above the diagonal'
    """
    if differs.all():
        return "they differ everywhere"
    return triangle(differs) or slices(differs) or share(differs)


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
            found = [int(i) for i in hit.nonzero().flatten()]
            return f"all differences are in {dimension_name(dim, differs.ndim)} {listed(found)}"
    return None


def share(differs: torch.Tensor) -> str:
    return f"{int(differs.sum())} of {differs.numel()} entries differ"


def dimension_name(dim: int, rank: int) -> str:
    """What people call a dimension: column, row, and `index … of dimension 0` before those."""
    names = {1: ["entry"], 2: ["row", "column"], 3: ["batch row", "row", "column"]}
    names[4] = ["batch row", "head", "row", "column"]
    return names[rank][dim] if rank in names else f"dimension {dim}, index"


def listed(numbers: list[int]) -> str:
    """`0`, `0 and 2`, `0, 1 and 2` (counting from 0)."""
    words = [str(number) for number in numbers]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
