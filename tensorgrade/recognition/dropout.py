"""Dropout by its properties, never by its pattern, which differs between platforms.

Inverted dropout (Srivastava et al. 2014, section 10) zeroes a share p of the entries and scales
the rest by 1 / (1 - p), so that the expected value stays; in evaluation it does nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from ..course import CourseError
from ..exchange.cases import Case
from ..exchange.observation import Observation
from ..messages import values
from ..messages.message import Message
from .imprints import Imprint, changed_inputs


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


UNLIKELY = 1e-10  # the chance with which a right answer may fail one comparison
FAR = 8.0  # the same for a sum that is nearly normal, in its standard deviations


def chances(kept: torch.Tensor, entries: torch.Tensor, p: float) -> torch.Tensor:
    """Which entries were kept (bool), each with mean 0 and variance 1; 0 where there is no entry.

    entries: a bool mask that `kept` broadcasts with; several runs may stand in front.
    """
    return torch.where(entries, (kept.double() - (1 - p)) / (p * (1 - p)) ** 0.5, 0.0)


def dependence(drawn: torch.Tensor, entries: torch.Tensor, p: float) -> int | None:
    """The first dimension along which entries were not dropped each on its own; None for none.

    drawn: `chances` of entries. An entry and another one, near or mirrored, must not go together,
    nor against one another, and what is dropped along a dimension must vary as much as chance makes
    it, no more and no less.
    """
    if entries.sum() * min(p, 1 - p) ** 2 < 30:
        return None  # too few to tell
    entries = entries.expand_as(drawn)
    least = 30 / min(p, 1 - p) ** 2
    for dim in range(drawn.dim()):
        if drawn.shape[dim] > 1 and (
            any(go_together(drawn, entries, one, least) for one in along(drawn, dim))
            or not varies(drawn, entries, dim, p)
        ):
            return dim
    together = any(go_together(drawn, entries, one, least) for one in across(drawn))
    return drawn.dim() - 1 if together else None


# A way to bring the entries of a tensor to one another's places.
Image = Callable[[torch.Tensor], torch.Tensor]


def along(drawn: torch.Tensor, dim: int) -> list[Image]:
    """What stands one or two on along a dimension, half of it on, or mirrored."""
    size = drawn.shape[dim]
    steps = sorted({step for step in (1, 2, size // 2) if 0 < step < size})
    return [*(partial(torch.roll, shifts=-n, dims=dim) for n in steps), lambda t: t.flip(dim)]


def across(drawn: torch.Tensor) -> list[Image]:
    """What stands one on along the diagonals of the last two dimensions, or mirrored in them."""
    rows, columns = drawn.shape[-2:]
    steps = [partial(torch.roll, shifts=(-1, n), dims=(-2, -1)) for n in (-1, 1)]
    return [*steps, lambda t: t.mT] if rows == columns else [*steps]


def go_together(drawn: torch.Tensor, entries: torch.Tensor, image: Image, least: float) -> bool:
    """Whether entries and their images are dropped together, or against one another.

    That is, farther from 0 than chance alone takes them. Of fewer pairs than `least` none can tell.
    """
    places = torch.arange(drawn.numel(), dtype=torch.int32).reshape(drawn.shape)
    once = (image(places) > places) & entries & image(entries)
    pairs = int(once.sum())
    total = (drawn * image(drawn) * once).sum()
    return pairs >= least and abs(float(total)) > FAR * pairs**0.5


def varies(drawn: torch.Tensor, entries: torch.Tensor, dim: int, p: float) -> bool:
    """Whether sums along a dimension vary as those of independent entries do.

    Their squares add up to a chi-square, but for the fourth moment of a single entry, which
    scales it (Satterthwaite 1946).
    """
    counts = entries.sum(dim=dim)
    counts, sums = counts[counts > 1].double(), drawn.sum(dim=dim)[counts > 1]
    if not len(counts):
        return True
    fourth = 1 / (p * (1 - p)) - 6  # excess over the normal distribution's
    scale = 1 + float((fourth / counts).mean()) / 2
    total = (sums**2 / counts).sum() / (2 * scale)
    degrees = torch.tensor(len(counts) / (2 * scale), dtype=torch.float64)
    lower, upper = torch.special.gammainc(degrees, total), torch.special.gammaincc(degrees, total)
    return min(float(lower), float(upper)) > UNLIKELY


def counts_by_chance(totals: list[float]) -> bool:
    """Whether the numbers dropped in several runs vary at all.

    totals: by how many standard deviations each run lies off its mean, at least half an entry.
    """
    squares = torch.tensor(totals, dtype=torch.float64).square().sum() / 2
    half = torch.tensor(len(totals) / 2, dtype=torch.float64)
    return len(totals) < 4 or float(torch.special.gammainc(half, squares)) > UNLIKELY


def once(case: Case, tensor: torch.Tensor, halves: int) -> torch.Tensor:
    """A tensor in the parts that its case says; of each part only the first of equal halves."""
    parts = in_parts(tensor, number_of_parts(case))
    return parts[..., : parts.shape[-1] // halves]


def deviations(drawn: torch.Tensor, entries: torch.Tensor, p: float) -> list[float]:
    """By how many standard deviations each run's number of entries lies off, and half an entry."""
    size = float(entries.sum())
    off = drawn.flatten(1).sum(dim=1).abs() / size**0.5 + 0.5 / (size * p * (1 - p)) ** 0.5
    return off.tolist()


def in_parts(tensor: torch.Tensor, parts: int) -> torch.Tensor:
    """(…, parts * m) with parts side by side as (…, parts, m); as it is where they do not fit."""
    return tensor if parts == 1 or tensor.shape[-1] % parts else tensor.unflatten(-1, (parts, -1))


def slices_alike(before: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether one pattern of dropped entries serves all slices along some dimension.

    >>> slices_alike(torch.ones(3, 4), torch.tensor([[2.0, 0, 2, 0]]).expand(3, 4))
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


def sentence(seen: DropoutBehaviour, p: float) -> Message:
    """Return a message about what dropout did, which points at the idea."""
    if seen.zeros == 0 and seen.scale is not None and abs(seen.scale - 1) < 1e-3:
        return values.NothingDropped()
    if seen.zeros == 1:
        return values.AllDropped()
    if seen.zeros == 0 and seen.scale is not None and abs(seen.scale * (1 - p) - 1) < 1e-3:
        return values.OnlyScaled()
    if seen.scale is None:
        return values.SeveralScales()
    if abs(seen.scale * (1 - p) - 1) >= 1e-3 and abs(seen.scale * (1 - seen.zeros) - 1) < 1e-5:
        return values.ScaledByShare(1 / seen.scale, 1 - p)
    if abs(seen.scale * (1 - seen.zeros) - 1) < 0.05:
        return values.OtherShareDropped(seen.zeros, p)
    if abs(seen.scale - 1) < 1e-3:
        return values.NotScaledUp()
    if abs(seen.scale * (1 - p) - 1) >= 1e-3:
        return values.OtherScale(seen.scale)
    return values.OtherShareDropped(seen.zeros, p)


def of_dropout(case: Case, expected: Observation, seen: Observation) -> Imprint:
    """How the `dropped` run came out of the `plain` one, but not which entries were hit."""
    if (runs := pair_of_runs(seen)) is None:
        return Imprint("no pair of results")
    plain, dropped = runs
    reference = expected.tensors["plain"]
    noisy = plain.shape == reference.shape and bool(((plain == 0) & (reference != 0)).any())
    what = behaviour(plain, dropped)
    scale = None if noisy else what.scale
    steady, zeros = scale is not None, share_of_zeros(what.zeros, rate(case))
    words = f"noisy={noisy} zeros={zeros} steady={steady} "
    words += f"repeats={repeats(case, *runs, seen.tensors.get('again'))} "
    words += f"learns={learns(expected, seen, dropped)} "
    words += f"sums kept={sums_kept(plain, dropped)} nan={bool(dropped.isnan().any())} "
    words += f"by row={steady or steady_by_row(case, *runs)}"
    words = "; ".join([words, *changed_inputs(seen)])
    return Imprint(words, (0.0 if scale is None else scale, size_without(reference, plain, noisy)))


def size_without(reference: torch.Tensor, plain: torch.Tensor, noisy: bool) -> float:
    """The one factor between the run without dropout and the reference; 0 where there is none."""
    if noisy or plain.shape != reference.shape:
        return 0.0
    return behaviour(reference, plain).scale or 0.0


def pair_of_runs(seen: Observation) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The results `plain` and `dropped`; None where they are no two tensors of one shape."""
    plain, dropped = seen.tensors.get("plain"), seen.tensors.get("dropped")
    if plain is None or dropped is None or plain.shape != dropped.shape or plain.dim() < 2:
        return None
    return plain, dropped


def rate(case: Case) -> float:
    """The dropout rate that a case asks for, by the argument that it names. Raises CourseError."""
    if not case.rate:
        raise CourseError(f"{case.id}: which argument is the dropout rate? Say so: rate=…")
    return case.asked(case.rate)


def number_of_parts(case: Case) -> int:
    """How many equal parts the last dimension falls into; 1 where the case names no argument."""
    return int(case.asked(case.parts)) if case.parts else 1


def repeats(
    case: Case, plain: torch.Tensor, dropped: torch.Tensor, again: torch.Tensor | None
) -> str:
    """`calls` where another seed drops the same entries, `slices` where rows or parts do."""
    if again is not None and same_zeros(again, dropped):
        return "calls"
    plain, dropped = (in_parts(run, number_of_parts(case)) for run in (plain, dropped))
    return "slices" if slices_alike(plain, dropped) else "nothing"


def same_zeros(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors of one shape are zero at the same places."""
    return first.shape == second.shape and bool(((first == 0) == (second == 0)).all())


def learns(expected: Observation, seen: Observation, dropped: torch.Tensor) -> str:
    """Whether gradients pass through what was kept, and through nothing else."""
    name = next((name for name in sorted(expected.tensors) if name.startswith("gradient.")), "")
    gradient = seen.tensors.get(name)
    if gradient is None or gradient.shape != dropped.shape:
        return "untold" if gradient is None else "misshapen"
    return str(same_zeros(gradient, dropped))


def sums_kept(plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Whether the rows still have their sums, as they do when each is brought back to 1."""
    before, after = (tensor.double().sum(dim=-1) for tensor in (plain, dropped))
    return bool(torch.isclose(before, after).double().mean() > 0.9)


def steady_by_row(case: Case, plain: torch.Tensor, dropped: torch.Tensor) -> bool:
    """Return True if the kept entries of each row share a factor, as if divided by their sum."""
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
    """`none`, `all`, `p`, or `other`: a share near to what was asked for, or not."""
    if zeros < 0.01 or zeros > 0.99:
        return "none" if zeros < 0.01 else "all"
    return "p" if abs(zeros - p) < 0.1 else "other"
