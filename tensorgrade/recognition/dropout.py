"""Dropout judged by its properties, never by its pattern, which differs between platforms.

Inverted dropout (Srivastava et al. 2014, section 10) zeroes a share p of the entries. It scales
the others by 1 / (1 - p), so that the expected value is preserved. In evaluation it does nothing.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from ..course import CourseError
from ..exchange.cases import Case
from ..exchange.observation import Observation
from .imprints import Imprint, changed_inputs


@dataclass(frozen=True)
class DropoutBehaviour:
    """The effect of a training run on entries whose values without dropout are known.

    zeros: the share of entries set to zero. scale: the common factor of all remaining entries; None
    if there is no common factor.
    """

    zeros: float
    scale: float | None


def behaviour(before: torch.Tensor, after: torch.Tensor, spread: float = 1e-3) -> DropoutBehaviour:
    """Compare `after` with `before` (both of the same shape); ignore zeros of `before`.

    spread: the largest relative difference of factors that count as equal.

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
    """Return True if this is inverted dropout with probability p on this many entries.

    The share of zeros may differ from p by six standard deviations, so a correct answer fails about
    once in a billion runs.
    """
    width = 6 * (p * (1 - p) / entries) ** 0.5
    return (
        seen.scale is not None
        and abs(seen.scale * (1 - p) - 1) < 1e-3
        and abs(seen.zeros - p) <= width
    )


UNLIKELY = 1e-10  # the accepted probability that a correct answer fails one comparison
HARDLY = 1e-12  # the same for one of many slices
FAR = 8.0  # the largest distance of a nearly normal sum from 0, in standard deviations


def chances(kept: torch.Tensor, entries: torch.Tensor, p: float) -> torch.Tensor:
    """Return `kept`, a bool mask of the entries that remain, scaled to mean 0 and variance 1.

    The scaling assumes that entries are dropped with probability p. Places without an entry are 0.
    entries: a bool mask of the places that count; it broadcasts with `kept`, which may have a
    leading dimension for several runs.
    """
    return torch.where(entries, (kept.double() - (1 - p)) / (p * (1 - p)) ** 0.5, 0.0)


def dependence(drawn: torch.Tensor, entries: torch.Tensor, p: float) -> int | None:
    """Return the first dimension along which entries were not dropped independently, or None.

    drawn: the result of `chances`. Nearby or mirrored entries must be neither positively nor
    negatively correlated. Sums along a dimension must vary as much as those of independent entries,
    no more and no less.
    """
    if entries.sum() * min(p, 1 - p) ** 2 < 30:
        return None  # too few to decide
    entries = entries.expand_as(drawn)
    least = 30 / min(p, 1 - p) ** 2
    pairs: list[Pairs]
    for dim, size in enumerate(drawn.shape):
        if size < 2:
            continue
        # Shifts by one, two and half of the dimension, and the mirror image.
        steps = sorted({step for step in (1, 2, size // 2) if 0 < step < size})
        pairs = [partial(shifted, dim=dim, step=step) for step in steps]
        pairs.append(partial(mirrored, dim=dim))
        together = any(go_together(drawn, entries, one, least) for one in pairs)
        if together or not varies(drawn, entries, dim, p):
            return dim
    # Shifts by one along the diagonals of the last two dimensions, and the transpose.
    pairs = [diagonal, lambda t: diagonal(t.flip(-1))]
    if drawn.shape[-2] == drawn.shape[-1]:
        pairs.append(lambda t: (t.triu(1), t.mT.triu(1)))
    together = any(go_together(drawn, entries, one, least) for one in pairs)
    return drawn.dim() - 1 if together else None


def is_uneven(drawn: torch.Tensor, entries: torch.Tensor, p: float) -> bool:
    """Return True if a row, a column or another slice loses too many or too few entries in all.

    drawn: the result of `chances` for several runs. The probability of so few or so many is at most
    exp(-n D), where D is the divergence of the share from p (Chernoff 1952).
    """
    entries = entries.expand_as(drawn)
    for dim in range(1, drawn.dim()):
        others = [other for other in range(drawn.dim()) if other != dim]
        counts = entries.sum(others).double()
        share = (entries & (drawn < 0)).sum(others) / counts.clamp(min=1)
        dropped, kept = (
            torch.special.xlogy(share, share / p),
            torch.special.xlogy(1 - share, (1 - share) / (1 - p)),
        )
        if bool((counts * (dropped + kept) > -math.log(HARDLY)).any()):
            return True
    return False


# A function that returns the first and the second entries of pairs, each pair once.
Pairs = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]


def shifted(t: torch.Tensor, dim: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pairs of entries that are so many steps apart along a dimension."""
    size = t.shape[dim] - step
    return t.narrow(dim, 0, size), t.narrow(dim, step, size)


def mirrored(t: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pairs of entries that mirror each other along a dimension."""
    half = t.shape[dim] // 2
    return t.narrow(dim, 0, half), t.flip(dim).narrow(dim, 0, half)


def diagonal(t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return pairs of neighbours on the diagonals of the last two dimensions."""
    return t[..., :-1, :-1], t[..., 1:, 1:]


def go_together(drawn: torch.Tensor, entries: torch.Tensor, pairs: Pairs, least: float) -> bool:
    """Return True if the entries of pairs are dropped together, or in opposition.

    That is the case if the sum of their products is farther from 0 than chance explains. With fewer
    pairs than `least` return False, because nothing can be decided.
    """
    one, other = pairs(entries)
    first, second = pairs(drawn)  # 0 where there is no entry
    number = int((one & other).sum())
    return number >= least and abs(float((first * second).sum())) > FAR * number**0.5


def varies(drawn: torch.Tensor, entries: torch.Tensor, dim: int, p: float) -> bool:
    """Return True if sums along a dimension vary as those of independent entries do.

    Their squares add up to a chi-square, scaled because of the fourth moment of a single entry
    (Satterthwaite 1946).
    """
    counts = entries.sum(dim=dim)
    counts, sums = counts[counts > 1].double(), drawn.sum(dim=dim)[counts > 1]
    if not len(counts):
        return True
    fourth = 1 / (p * (1 - p)) - 6  # excess over that of the normal distribution
    scale = 1 + float((fourth / counts).mean()) / 2
    total = (sums**2 / counts).sum() / (2 * scale)
    degrees = torch.tensor(len(counts) / (2 * scale), dtype=torch.float64)
    lower, upper = torch.special.gammainc(degrees, total), torch.special.gammaincc(degrees, total)
    return min(float(lower), float(upper)) > UNLIKELY


def counts_by_chance(totals: list[float]) -> bool:
    """Return True if the numbers of dropped entries vary between runs as much as by chance.

    Return True for fewer than four runs too. totals: the results of `deviations` for all runs.
    """
    squares = torch.tensor(totals, dtype=torch.float64).square().sum() / 2
    half = torch.tensor(len(totals) / 2, dtype=torch.float64)
    return len(totals) < 4 or float(torch.special.gammainc(half, squares)) > UNLIKELY


def first_share(case: Case, tensor: torch.Tensor, halves: int) -> torch.Tensor:
    """Split a tensor into its case's parts, and return the first share of each part.

    halves: the number of equal shares of each part.
    """
    parts = in_parts(tensor, number_of_parts(case))
    return parts[..., : parts.shape[-1] // halves]


def deviations(drawn: torch.Tensor, entries: torch.Tensor, p: float) -> list[float]:
    """Return how far each run's number of dropped entries is from its mean.

    The unit is the standard deviation. Half an entry is added to each distance, because numbers of
    entries are integers.
    """
    size = float(entries.sum())
    off = drawn.flatten(1).sum(dim=1).abs() / size**0.5 + 0.5 / (size * p * (1 - p)) ** 0.5
    return off.tolist()


def in_parts(tensor: torch.Tensor, parts: int) -> torch.Tensor:
    """Return (…, parts * m) as (…, parts, m), or unchanged if the size is not divisible."""
    return tensor if parts == 1 or tensor.shape[-1] % parts else tensor.unflatten(-1, (parts, -1))


def all_alike(filled: torch.Tensor, dropped: torch.Tensor, dim: int) -> bool:
    """Return True if neighbouring slices along a dimension lost the same entries.

    filled: a mask of the entries before dropout; only those that both slices have count. dropped:
    a mask of the zeros after it.
    """
    size = filled.shape[dim] - 1
    if size < 1:
        return False
    first, second = ([t.narrow(dim, at, size) for t in (filled, dropped)] for at in (0, 1))
    both = first[0] & second[0]
    return bool(both.any()) and bool(((first[1] == second[1]) | ~both).all())


def difference(seen: DropoutBehaviour, p: float) -> str:
    """Return a clause about the difference between this behaviour and dropout at rate p."""
    if seen.zeros == 0 and seen.scale is not None and abs(seen.scale - 1) < 1e-3:
        return NOTHING_DROPPED
    if seen.zeros == 1:
        return (
            "a call in training drops everything; drop each entry by chance, independently of the "
            "others"
        )
    if seen.zeros == 0 and seen.scale is not None and abs(seen.scale * (1 - p) - 1) < 1e-3:
        return "a call in training scales everything and drops nothing; drop each entry by chance"
    if seen.scale is None:
        return "the kept entries are not all scaled by the same factor"
    if abs(seen.scale * (1 - p) - 1) >= 1e-3 and abs(seen.scale * (1 - seen.zeros) - 1) < 1e-5:
        return f"the kept entries are scaled by 1 / {1 / seen.scale:.3g}, but 1 - p is {1 - p:.3g}"
    if abs(seen.scale - 1) < 1e-3 and abs(seen.scale * (1 - seen.zeros) - 1) >= 0.05:
        return "the kept entries are not scaled up, so the mean shrinks"
    if abs(seen.scale * (1 - p) - 1) >= 1e-3 and abs(seen.scale * (1 - seen.zeros) - 1) >= 0.05:
        return f"the kept entries are scaled by {seen.scale:.2g}, which does not keep the mean"
    return f"a share of {seen.zeros:.2f} of the entries is dropped, but p is {p}"


NOTHING_DROPPED = "in training nothing is dropped"


def of_dropout(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """Summarize how the `dropped` run differs from `plain`; ignore which entries were dropped."""
    if (runs := pair_of_runs(seen)) is None:
        return Imprint("no pair of results")
    plain, dropped = runs
    reference = expected.tensors["plain"]
    fits = plain.shape == reference.shape
    noisy = fits and bool(((plain == 0) & (reference != 0)).any())
    what = behaviour(plain, dropped)
    scale = None if noisy else what.scale
    steady, zeros = scale is not None, share_of_zeros(what.zeros, rate(case))
    # Weights that are divided again after dropout have the same sums as before.
    before, after = (run.double().sum(dim=-1) for run in runs)
    kept = bool(torch.isclose(before, after).double().mean() > 0.9)
    words = f"noisy={noisy} zeros={zeros} steady={steady} "
    words += f"repeats={repeats(case, *runs, seen.tensors.get('again'))} "
    words += f"learns={learns(expected, seen, dropped)} "
    words += f"sums kept={kept} nan={bool(dropped.isnan().any())} "
    words += f"by row={steady or steady_by_row(case, *runs)}"
    # The second number is the factor between the run without dropout and the reference.
    size = behaviour(reference, plain).scale if fits and not noisy else None
    numbers = 0.0 if scale is None else scale, size or 0.0
    return Imprint(words, numbers, tuple(changed_inputs(seen)))


def pair_of_runs(seen: Observation) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Return the results `plain` and `dropped`; None unless they are tensors of the same shape.

    The tensors need at least two dimensions.
    """
    plain, dropped = seen.tensors.get("plain"), seen.tensors.get("dropped")
    if plain is None or dropped is None or plain.shape != dropped.shape or plain.dim() < 2:
        return None
    return plain, dropped


def rate(case: Case) -> float:
    """Return the dropout rate that a case passes in the argument it names. Raises CourseError."""
    if not case.rate:
        raise CourseError(f"{case.id}: which argument is the dropout rate? Say so: rate=…")
    return case.asked(case.rate)


def number_of_parts(case: Case) -> int:
    """Return the number of equal parts in the last dimension; 1 if the case names no argument."""
    return int(case.asked(case.parts)) if case.parts else 1


def repeats(
    case: Case, plain: torch.Tensor, dropped: torch.Tensor, again: torch.Tensor | None
) -> str:
    """Return `calls` if another seed drops the same entries, `slices` if rows or parts share them.

    Otherwise return `nothing`.
    """
    if again is not None and same_zeros(again, dropped):
        return "calls"
    plain, dropped = (in_parts(run, number_of_parts(case)) for run in (plain, dropped))
    filled, zeros = plain.abs() > 1e-12, dropped == 0
    alike = any(all_alike(filled, zeros, dim) for dim in range(plain.dim()))
    return "slices" if alike else "nothing"


def same_zeros(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Return True if two tensors of the same shape are zero at the same places."""
    return first.shape == second.shape and bool(((first == 0) == (second == 0)).all())


def learns(expected: Observation, seen: Observation, dropped: torch.Tensor) -> str:
    """Compare the zeros of the gradient with the dropped entries, and return a word.

    It is `True` if gradients pass through all entries that remain and through no others, otherwise
    `False`. It is `untold` if there is no gradient, and `misshapen` if its shape is wrong.
    """
    name = next((name for name in sorted(expected.tensors) if name.startswith("gradient.")), "")
    gradient = seen.tensors.get(name)
    if gradient is None or gradient.shape != dropped.shape:
        return "untold" if gradient is None else "misshapen"
    return str(same_zeros(gradient, dropped))


def steady_by_row(case: Case, plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Return True if the entries that remain in each row share a factor; rows may differ."""
    before, after = (in_parts(run, number_of_parts(case)).double() for run in (plain, dropped))
    kept = (before.abs() > 1e-12) & (after != 0)
    ratios = torch.where(kept, after / before, torch.nan)
    least, most = (
        ratios.nan_to_num(nan=torch.inf).amin(-1),
        ratios.nan_to_num(nan=-torch.inf).amax(-1),
    )
    some = kept.any(dim=-1)
    return bool(((most - least)[some] <= 1e-3 * most[some].abs()).all())


def share_of_zeros(zeros: float, p: float) -> str:
    """Return `none`, `all`, `p` (close to the requested share) or `other`."""
    if zeros < 0.01 or zeros > 0.99:
        return "none" if zeros < 0.01 else "all"
    return "p" if abs(zeros - p) < 0.1 else "other"
