"""Parts of attention: softmax, norms and positions, each as a formula with known mistakes.

A mistake is an edit of the formula's text, so that wrong results can be compared with those of all
known mistakes.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from .code import CannotRun, Mistake
from .roles import Sizes

Formula = Callable[..., Iterable[Tensor]]  # yields its result in each convention
# What an edit replaces and by what, and the mistake that it makes: its name, where to look and a
# sentence. Without a name, the edit is another right convention.
Edit = tuple[str, str, str, str, str]
USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3, torch.finfo(torch.float32).eps)


@cache
def forms(formula: Formula, edits: tuple[Edit, ...]) -> list[tuple[Mistake | None, Formula]]:
    """Return a right formula without a mistake, and then its edits."""
    source = inspect.getsource(formula)
    found: list[tuple[Mistake | None, Formula]] = [(None, formula)]
    for old, new, name, where, says in edits:
        assert old in source, f"{formula.__name__} has no {old}"
        names = dict(formula.__globals__)
        exec(source.replace(old, new), names)
        mistake = Mistake(says, name, where) if name else None
        found.append((mistake, names[formula.__name__]))
    return found


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. takes: the arguments of a function, in their
    order; a module is called on `x`. formula: takes weights, and the arguments by name.
    """

    name: str
    names: str
    takes: tuple[str, ...]
    formula: Formula
    edits: tuple[Edit, ...]

    def inputs(self, sizes: Sizes, chosen: Collection[str]) -> dict[str, Any]:
        """Return arguments by role: drawn ones, but the usual axis and positions unless chosen.

        Numbers of the first sequence are so small that eps matters. Positions are in no order.
        """
        chance = torch.Generator().manual_seed(sizes.seed)
        x = torch.randn(sizes.batch, sizes.tokens, sizes.width, generator=chance) + 0.5
        x[0] *= 2e-3
        every = {"x": x, "dim": -1, "positions": torch.arange(sizes.tokens)}
        every |= {"count": sizes.tokens + 2, "width": sizes.width}
        if "dim" in chosen:
            every["dim"] = (-1, 0, 2, 1)[sizes.seed % 4]
        if "positions" in chosen:
            every["positions"] = torch.randperm(sizes.tokens + 5, generator=chance)[5:]
        return {name: one for name, one in every.items() if name in ("x", *self.takes)}


def softmax(weights: list[Tensor], x: Tensor, dim: int) -> Iterator[Tensor]:
    """Yield a softmax of the numbers, and of those less the largest."""
    for numbers in (x, x - x.amax(dim, keepdim=True)):
        powers = numbers.exp()
        yield powers / powers.sum(dim, keepdim=True)


def conventions(weights: list[Tensor], width: int) -> Iterator[tuple[Tensor, Tensor, float]]:
    """Yield a scale, a shift and an eps of a norm. Either of two weights can be the scale."""
    own = [one.flatten() for one in weights if one.numel() == width] or [torch.ones(width)]
    for (scale, shift), eps in product(permutations([*own, torch.zeros(width)][:2]), USUAL_EPS):
        yield scale, shift, eps


def layer_norm(weights: list[Tensor], x: Tensor) -> Iterator[Tensor]:
    """Yield layer norms."""
    centred = x - x.mean(-1, keepdim=True)
    square = centred.square().mean(-1, keepdim=True)
    for scale, shift, eps in conventions(weights, x.shape[-1]):
        yield centred / (square + eps).sqrt() * scale + shift


def rms_norm(weights: list[Tensor], x: Tensor) -> Iterator[Tensor]:
    """Yield root-mean-square norms, whose numbers are not centred."""
    square = x.square().mean(-1, keepdim=True)
    for scale, shift, eps in conventions(weights, x.shape[-1]):
        yield x / (square + eps).sqrt() * scale + shift


def joined(one: Tensor, other: Tensor, neighbours: bool) -> Tensor:
    """Return vectors of pairs: neighbours, or entry i of the first and of the second half."""
    return torch.stack((one, other), -1).flatten(-2) if neighbours else torch.cat((one, other), -1)


def rotary(weights: list[Tensor], x: Tensor, positions: Tensor) -> Iterator[Tensor]:
    """Yield vectors turned by their positions, in both conventions of pairs."""
    exponents = torch.arange(x.shape[-1] // 2) / (x.shape[-1] // 2)
    angles = positions[:, None] * 10000.0**-exponents
    for near in (False, True):
        cos, sin = (joined(one, one, near) for one in (angles.cos(), angles.sin()))
        one, other = (x[..., ::2], x[..., 1::2]) if near else x.chunk(2, -1)
        yield joined(one, other, near) * cos + joined(-other, one, near) * sin


def sinusoidal(weights: list[Tensor], count: int, width: int, x: Tensor) -> Iterator[Tensor]:
    """Yield sines and cosines that alternate, or halves of them, alone or added along either axis.

    Raises CannotRun.
    """
    if weights:
        raise CannotRun("its positions are learned")
    half = width // 2
    for last, near in product((half, half - 1), (True, False)):
        exponents = torch.arange(half) / last
        angles = torch.arange(count)[:, None] * 10000.0**-exponents
        made = joined(angles.sin(), angles.cos(), near)
        yield from (made, x + made[: x.shape[1]], x + made[: x.shape[0], None])


RIGHT = ("", "", "")
NORMS: tuple[Edit, ...] = (
    ("* scale", "* (1 + scale)", *RIGHT),
    (" * scale", "", "scale_left_out", "return", "The scale is not applied."),
)
RATES: tuple[Edit, ...] = (
    ("**-exponents", "** -(2 * exponents)", "exponent_doubled", "** pow exp", "The exponent is twice what it should be."),
    ("**-exponents", "** -(exponents / 2)", "exponent_halved", "** pow exp", "The exponent is half of what it should be."),
    ("**-exponents", "**exponents", "exponent_sign", "** pow exp", "The rates grow; they should fall from pair to pair."),
)  # fmt: skip
MIXED = "Two conventions are mixed:"
KINDS = (
    Kind("softmax", r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?", ("x", "dim"), softmax, (
        ("powers.sum(dim, keepdim=True)", "powers.sum()", "softmax_over_all", "sum", "All entries together sum to 1, not each row."),
        ("sum(dim", "sum(0", "softmax_over_dimension_0", "dim axis sum", "The softmax runs over the first axis."),
        ("sum(dim", "sum(-1", "dim_ignored", "dim=-1 -1", "The `dim` that is passed in is ignored: the last axis is always used."),
        ("numbers.exp()", "numbers", "no_exponential", "amax max sum", "There is no exponential: the numbers are divided by their sum."),
        (" / powers.sum(dim, keepdim=True)", "", "exponential_not_normalized", "exp", "The exponentials are not divided by their sum."),
    )),
    Kind("RMS norm", r"\w*rms_?norm\w*", ("x",), rms_norm, (
        ("(square + eps).sqrt()", "(square.sqrt() + eps)", *RIGHT),
        *NORMS,
        ("mean(", "sum(", "sum_of_squares", "sum", "The squares are summed, not averaged."),
        ("    square", "    x = x - x.mean(-1, keepdim=True)\n    square", "mean_subtracted", "mean", "The mean is subtracted; an RMS norm leaves it."),
    )),
    Kind("layer norm", r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?", ("x",), layer_norm, (
        *NORMS,
        ("centred.square().mean(-1, keepdim=True)", "x.var(-1, keepdim=True)", "unbiased_variance", "var std", "The variance is divided by d - 1 instead of d."),
        ("(square + eps).sqrt()", "(square.sqrt() + eps)", "eps_outside_the_root", "eps", "eps is added to the standard deviation, outside the root."),
        ("(square + eps).sqrt()", "(x.std(-1, keepdim=True) + eps)", "unbiased_variance_and_eps_outside", "std var", "The variance is divided by d - 1 and eps is outside the root."),
        ("yield centred", "yield x", "mean_not_subtracted", "mean", "The mean is not subtracted."),
        ("mean(-1", "mean(1", "normed_over_tokens", "dim mean", "The norm runs over the tokens. It belongs on each token's own numbers."),
        (" + shift", "", "shift_left_out", "return", "The shift is not applied."),
    )),
    # A RotaryEmbedding may return angles.
    Kind("rotary positions", r"rotate|rope|rotary|apply_?(rope|rotary)\w*", ("x", "positions"), rotary, (
        ("one, one, near", "one, one, not near", "angles_of_other_pairs", "repeat_interleave stack cat repeat", f"{MIXED} the angles are laid out for neighbours (a a b b) and the turn is that of halves (a b a b), or the other way round."),
        ("if near", "if not near", "pairs_split_and_joined_differently", "::2 cat stack", f"{MIXED} pairs are split as neighbours and joined as halves, or the other way round."),
        ("* sin", "* -sin", "turned_backwards", "sin", "The turn has the other direction."),
        ("joined(-other", "joined(other", "no_minus", "sin", "The turn lacks its minus sign."),
        *RATES,
    )),
    Kind("sinusoidal positions", r"\w*(sinusoid|sin_?cos|positional_?enc)\w*", ("count", "width"), sinusoidal, (
        ("angles.sin(), angles.cos()", "angles.cos(), angles.sin()", "sines_and_cosines_swapped", "sin cos", "Sines and cosines are swapped."),
        *RATES,
    )),
)  # fmt: skip


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if re.fullmatch(kind.names, name, re.I)), None)
