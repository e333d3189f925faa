"""Judges dropout by its properties, never by its pattern, which differs between platforms.

Inverted dropout (Srivastava et al. 2014, section 10) zeroes a share p of the entries and scales
the rest by 1 / (1 - p), so that the expected value stays; in evaluation it does nothing.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class DropoutBehaviour:
    """What a training run did to entries whose values without dropout are known.

    zeros: the share of entries set to zero. scale: the one factor on all kept entries, or None
    where there is no single one.
    """

    zeros: float
    scale: float | None


def behaviour(before: torch.Tensor, after: torch.Tensor, spread: float = 1e-3) -> DropoutBehaviour:
    """How `after` came out of `before` (both of any one shape); zeros of `before` are left out.

    >>> behaviour(torch.ones(4), torch.tensor([2.0, 0, 0, 2]))
    DropoutBehaviour(zeros=0.5, scale=2.0)
    """
    before, after = before.double(), after.double()
    entries = before.abs() > 1e-12
    kept = entries & (after != 0)
    zeros = 1.0 - kept.sum().item() / max(1, entries.sum().item())
    ratios = after[kept] / before[kept]
    if not len(ratios) or not torch.isfinite(ratios).all():
        return DropoutBehaviour(zeros, None)
    middle = ratios.median().item()
    steady = bool(((ratios - middle).abs() <= spread * abs(middle)).all())
    return DropoutBehaviour(zeros, middle if steady else None)


def looks_like(seen: DropoutBehaviour, p: float, entries: int) -> bool:
    """Whether the behaviour is inverted dropout with probability p on that many entries.

    The share of zeros may lie six standard deviations from p: a right answer fails about once
    in a billion runs.
    """
    width = 6 * (p * (1 - p) / entries) ** 0.5
    return (
        seen.scale is not None
        and abs(seen.scale * (1 - p) - 1) < 1e-3
        and abs(seen.zeros - p) <= width
    )


def by_head(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """(…, h * m) with heads side by side as (…, h, m); as it is where they do not fit."""
    return tensor if heads == 1 or tensor.shape[-1] % heads else tensor.unflatten(-1, (heads, -1))


def repeats(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether one pattern of dropped entries serves all slices along some dimension.

    >>> repeats(torch.ones(3, 4), torch.tensor([[2.0, 0, 2, 0]]).expand(3, 4))
    True
    """
    filled, dropped = before.abs() > 1e-12, after == 0
    return any(all_alike(filled, dropped, dim) for dim in range(before.dim()))


def all_alike(filled: torch.Tensor, dropped: torch.Tensor, dim: int) -> bool:
    """Whether neighbours along a dimension lost the same entries, as far as both had any."""
    size = filled.shape[dim] - 1
    if size < 1:
        return False
    first, second = ([t.narrow(dim, at, size) for t in (filled, dropped)] for at in (0, 1))
    both = first[0] & second[0]
    return bool(both.any()) and bool(((first[1] == second[1]) | ~both).all())


def sentence(seen: DropoutBehaviour, p: float) -> str:
    """What was seen, in words that point at the idea."""
    if seen.zeros == 0 and seen.scale is not None and abs(seen.scale - 1) < 1e-3:
        return "in training nothing is dropped at all"
    if seen.scale is None:
        return "the kept entries are not all scaled by one and the same factor"
    if abs(seen.scale * (1 - seen.zeros) - 1) < 0.05:
        return f"a share of {seen.zeros:.2f} of the entries is dropped although p is {p}"
    if abs(seen.scale - 1) < 1e-3:
        return "the kept entries are not scaled up, so their expected value shrinks"
    if abs(seen.scale * (1 - p) - 1) >= 1e-3:
        return f"the kept entries are scaled by {seen.scale:.3g}, which does not keep the mean"
    return f"a share of {seen.zeros:.2f} of the entries is dropped although p is {p}"
