"""Formulas of softmax, norms, positions and losses: the parts of attention and of models with it.

Each formula has an argument `how`: empty for the usual form, or the name of another convention or
of a known mistake. So a result can be compared with all of them.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .reference import Cause
from .roles import Sizes


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. inputs: draws the arguments, by role. right:
    its conventions in words, by `how`. wrong: its known mistakes, by `how`.
    """

    name: str
    source: str
    names: re.Pattern[str]
    inputs: Callable[[Sizes], dict[str, Any]]
    formula: Callable[..., Tensor]
    right: dict[str, str]
    wrong: dict[str, Cause]


def causes(table: dict[str, tuple[str, str, str]]) -> dict[str, Cause]:
    """Return known mistakes by `how`. table: a name, a sentence, and words on the likely line."""
    return {how: Cause(name, says, tuple(w.split())) for how, (name, says, w) in table.items()}


def drawn(*shape: int, seed: int) -> Tensor:
    """Return normal numbers in double precision."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return a tensor of one of several shapes, and an axis."""
    shapes = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))
    shape, dim = shapes[sizes.seed % len(shapes)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


def softmax(x: Tensor, dim: int = -1, how: str = "") -> Tensor:
    """Return the softmax, or one with a mistake."""
    low = x - x.amax(dim, True)
    match how:
        case "over all":
            return x.exp() / x.exp().sum()
        case "over all, stable":
            return low.exp() / low.exp().sum()
        case "over axis 0" | "over the last axis":
            return torch.softmax(x, 0 if how == "over axis 0" else -1)
        case "shares":
            return x / x.sum(dim, True)
        case "shares, stable":
            return low / low.sum(dim, True)
        case "by sum of inputs":
            return low.exp() / x.sum(dim, True)
        case "log":
            return torch.log_softmax(x, dim)
        case "exp":
            return x.exp()
        case "exp, stable":
            return low.exp()
        case "sigmoid":
            return x.sigmoid()
        case "base two":
            return torch.softmax(x * math.log(2), dim)
        case "negative":
            return torch.softmax(-x, dim)
        case "by mean":
            return torch.softmax(x, dim) * x.shape[dim]
    return torch.softmax(x, dim)


OVER_ALL = "softmax_over_all", "All entries together sum to 1, not each row.", "sum"
NOT_NORMALIZED = (
    "exponential_not_normalized",
    "The exponentials are not divided by their sum.",
    "exp",
)
NO_EXPONENTIAL = "There is no exponential: the numbers are divided by their sum."
SOFTMAX = Kind(
    "softmax",
    "torch.softmax",
    re.compile(r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?", re.I),
    softmax_inputs,
    softmax,
    {"": "along the last axis"},
    causes({
        "over all": OVER_ALL,
        "over axis 0": ("softmax_over_dimension_0", "The softmax runs over the first axis.", "dim axis sum"),
        "over all, stable": OVER_ALL,
        "over the last axis": ("dim_ignored", "The `dim` that is passed in is ignored: the last axis is always used.", "dim=-1 -1"),
        "shares, stable": ("no_exponential", NO_EXPONENTIAL, "amax max"),
        "by sum of inputs": ("divided_by_sum_of_inputs", "The exponentials are divided by the sum of the inputs.", "sum"),
        "log": ("log_softmax", "Logarithms of the shares come back.", "log"),
        "exp, stable": NOT_NORMALIZED,
        "exp": NOT_NORMALIZED,
        "shares": ("no_exponential", NO_EXPONENTIAL, "sum"),
        "sigmoid": ("sigmoid", "A sigmoid takes the place of the softmax.", "sigmoid"),
        "base two": ("base_two", "The base of the powers is not e.", "** exp2"),
        "negative": ("exponential_of_negative", "The sign is turned around: the smallest number gets the largest share.", "exp -"),
        "by mean": ("divided_by_mean", "The exponentials are divided by their mean.", "mean"),
    }),
)  # fmt: skip


def norm_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return rows of numbers; those of the first sequence are so small that eps matters."""
    x = drawn(sizes.batch, sizes.tokens, sizes.width, seed=sizes.seed) + 0.5
    x[0] *= 2e-3
    return {"x": x}


def layer_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float, how: str = "") -> Tensor:
    """Return a layer norm, or one with a mistake."""
    if how == "one plus":
        scale, shift = 1 + shift, torch.zeros_like(shift)
    axes = {"all tokens": (1, 2), "tokens": (1,), "batch": (0,)}.get(how, (-1,))
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, unbiased="unbiased" in how)
    centered = x if how == "no mean" else x - mean
    if how == "no eps":
        eps = 0.0
    if "outside" in how:
        found = centered / (variance.sqrt() + eps)
    elif how == "no root":
        found = centered / (variance + eps)
    elif how == "centered only":
        found = centered
    else:
        found = centered / (variance + eps).sqrt()
    if how == "no scale":
        return found + shift
    if how == "no shift":
        return found * scale
    return (found + shift) * scale if how == "shift first" else found * scale + shift


LAYER_NORM = Kind(
    "layer norm",
    "Ba et al. 2016, equation 4",
    re.compile(r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?", re.I),
    norm_inputs,
    layer_norm,
    {"": "", "one plus": "a scale that is 1 + its parameter"},
    causes({
        "unbiased": ("unbiased_variance", "The variance is divided by d - 1 instead of d.", "var std"),
        "outside": ("eps_outside_the_root", "eps is added to the standard deviation, outside the root.", "eps"),
        "unbiased outside": ("unbiased_variance_and_eps_outside", "The variance is divided by d - 1 and eps is outside the root.", "std var"),
        "no mean": ("mean_not_subtracted", "The mean is not subtracted.", "mean"),
        "no root": ("no_root", "The result is divided by the variance, not by its root.", "sqrt var"),
        "no eps": ("no_eps", "There is no eps.", "eps var"),
        "centered only": ("not_divided", "The rows are centered, and not divided by their deviation.", "mean"),
        "tokens": ("normed_over_tokens", "The norm runs over the tokens. It belongs on each token's own numbers.", "dim mean"),
        "all tokens": ("normed_over_all", "The norm runs over tokens and numbers together.", "mean"),
        "batch": ("normed_over_batch", "The norm runs over the batch.", "mean"),
        "no scale": ("scale_left_out", "The scale is not applied.", "return"),
        "no shift": ("shift_left_out", "The shift is not applied.", "return"),
        "shift first": ("shifted_before_scaled", "The shift comes before the scale.", "return"),
    }),
)  # fmt: skip


def rms_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float, how: str = "") -> Tensor:
    """Return a root-mean-square norm, or one with a mistake."""
    if how == "one plus":
        scale = 1 + shift
    if how == "mean":
        x = x - x.mean(-1, keepdim=True)
    square = x.square().sum(-1, keepdim=True) if how == "sum" else x.square().mean(-1, keepdim=True)
    if how == "outside":
        return x / (square.sqrt() + eps) * scale
    if how == "no root":
        return x / (square + eps) * scale
    found = x * (square + (0.0 if how == "no eps" else eps)).rsqrt()
    return found if how == "no scale" else found * scale


RMS_NORM = Kind(
    "RMS norm",
    "Zhang & Sennrich 2019",
    re.compile(r"\w*rms_?norm\w*", re.I),
    norm_inputs,
    rms_norm,
    {"": "", "one plus": "a scale that is 1 + its parameter", "outside": "eps outside the root"},
    causes({
        "mean": ("mean_subtracted", "The mean is subtracted; an RMS norm leaves it.", "mean"),
        "sum": ("sum_of_squares", "The squares are summed, not averaged.", "sum"),
        "no root": ("no_root", "The result is divided by the mean square, not by its root.", "sqrt rsqrt"),
        "no eps": ("no_eps", "There is no eps.", "eps"),
        "no scale": ("scale_left_out", "The scale is not applied.", "return"),
    }),
)  # fmt: skip


def rotary_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return vectors and their positions, which have gaps and are in no order."""
    x = drawn(sizes.tokens, 2 * sizes.head_dim, seed=sizes.seed)
    chance = torch.Generator().manual_seed(sizes.seed)
    return {"x": x, "positions": 137 - torch.randperm(sizes.tokens + 5, generator=chance)[5:]}


def rotary(x: Tensor, positions: Tensor, how: str = "") -> Tensor:
    """Return vectors turned by their positions, in pairs of halves or, by `how`, of neighbours."""
    d = x.shape[-1]
    exponents = torch.arange(d // 2, dtype=x.dtype) / (d // 2)
    if "doubled" in how:
        exponents = 2 * exponents
    if "halved" in how:
        exponents = exponents / 2
    if "growing" in how:
        exponents = -exponents
    angles = (positions[:, None].to(x.dtype) + ("next" in how)) * 10000.0**-exponents
    if "backwards" in how:
        angles = -angles
    cos, sin = torch.cos(angles), torch.sin(angles)
    if how == "angles of neighbours":
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
        one, other = x.chunk(2, -1)
        return x * cos + torch.cat((-other, one), -1) * sin
    if how == "angles of halves":
        cos, sin = cos.repeat(1, 2), sin.repeat(1, 2)
        return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin
    neighbours = "neighbours" in how
    splits_neighbours, joins_neighbours = {
        "neighbours split, halves joined": (True, False),
        "halves split, neighbours joined": (False, True),
    }.get(how, (neighbours, neighbours))
    one, other = (x[..., ::2], x[..., 1::2]) if splits_neighbours else x.chunk(2, -1)
    minus = 1 if "no minus" in how else -1
    both = (one * cos + minus * other * sin, other * cos + one * sin)
    return torch.stack(both, -1).flatten(-2) if joins_neighbours else torch.cat(both, -1)


def wrong_turns() -> dict[str, Cause]:
    """Return the known mistakes of rotary positions; some occur in both conventions."""
    both = {
        "backwards": ("turned_backwards", "The turn has the other direction.", "sin"),
        "doubled": ("exponent_doubled", "The exponent is twice what it should be.", "** pow exp"),
        "halved": ("exponent_halved", "The exponent is half of what it should be.", "** pow exp"),
        "no minus": ("no_minus", "The turn lacks its minus sign.", "sin"),
    }
    return causes({
        "angles of neighbours": ("angles_of_neighbours", "Two conventions are mixed: the angles are laid out for neighbours (a a b b), the turn is that of halves.", "repeat_interleave stack"),
        "angles of halves": ("angles_of_halves", "Two conventions are mixed: the angles are laid out for halves (a b a b), the turn is that of neighbours.", "cat repeat"),
        "neighbours split, halves joined": ("neighbours_split_halves_joined", "Two conventions are mixed: pairs are split as neighbours and joined as halves.", "cat"),
        "halves split, neighbours joined": ("halves_split_neighbours_joined", "Two conventions are mixed: pairs are split as halves and joined as neighbours.", "stack"),
        **both,
        **{f"neighbours {how}": cause for how, cause in both.items()},
        "growing": ("exponent_sign", "The rates grow; they should fall from pair to pair.", "** pow exp"),
        "next": ("one_position_too_far", "The positions are one too large.", "arange positions"),
    })  # fmt: skip


ROTARY = Kind(
    "rotary positions",
    "Su et al. 2021, section 3.4.2",
    re.compile(r"rotate|\w*(rope|rotary)\w*", re.I),
    rotary_inputs,
    rotary,
    {"": "pairs of halves", "neighbours": "pairs of neighbours"},
    wrong_turns(),
)


def sinusoidal_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return the number of positions and their width."""
    return {"count": sizes.tokens + 2, "width": 2 * sizes.head_dim}


def sinusoidal(count: int, width: int, how: str = "") -> Tensor:
    """Return sinusoidal positions in a convention, or with a mistake."""
    half = (width + 1) // 2
    steps = torch.arange(half, dtype=torch.float64)
    exponents = steps / (half - 1) if "end" in how and half > 1 else 2 * steps / width
    if how == "doubled":
        exponents = 2 * exponents
    if how == "no two":
        exponents = exponents / 2
    if how == "growing":
        exponents = -exponents
    positions = torch.arange(count, dtype=torch.float64)[:, None] + (how == "next")
    angles = positions / 10000.0**exponents
    one, other = (angles.cos(), angles.sin()) if how == "swapped" else (angles.sin(), angles.cos())
    if how == "same":
        other = one
    if "halves" in how:
        return torch.cat((one, other), -1)[:, :width]
    return torch.stack((one, other), -1).flatten(1)[:, :width]


SINUSOIDAL = Kind(
    "sinusoidal positions",
    "Vaswani et al. 2017, section 3.5",
    re.compile(r"\w*(sinusoid|sin_?cos|positional_?enc)\w*", re.I),
    sinusoidal_inputs,
    sinusoidal,
    {
        "": "sines and cosines alternate",
        "halves": "sines, then cosines",
        "halves end": "sines, then cosines, up to the last rate",
        "end": "alternating, up to the last rate",
    },
    causes({
        "swapped": ("sines_and_cosines_swapped", "Sines and cosines are swapped.", "sin cos"),
        "doubled": ("exponent_doubled", "The exponent is twice what it should be.", "** pow exp"),
        "no two": ("exponent_halved", "The exponent is half of what it should be.", "** pow exp"),
        "growing": ("exponent_sign", "The waves get shorter; they should get longer.", "** pow exp"),
        "next": ("one_position_too_far", "The positions begin at 1.", "arange"),
        "same": ("sines_only", "There are sines only.", "sin cos"),
    }),
)  # fmt: skip


def loss_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return logits (batch, tokens, classes) and targets (batch, tokens)."""
    chance = torch.Generator().manual_seed(sizes.seed)
    shape = (sizes.batch + 2, sizes.tokens)
    classes = sizes.width + 1
    targets = torch.randint(classes, shape, generator=chance)
    return {"logits": drawn(*shape, classes, seed=sizes.seed), "targets": targets}


def cross_entropy(logits: Tensor, targets: Tensor, how: str = "") -> Tensor:
    """Return the cross-entropy, or one with a mistake."""
    if how == "softmax twice":
        logits = torch.softmax(logits, -1)
    each = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    match how:
        case "sum":
            return each.sum()
        case "positive":
            return -each.mean()
        case "base two" | "base ten":
            return each.mean() / math.log(2 if how == "base two" else 10)
        case "each":
            return each.view(targets.shape)
        case "by class":
            return each.mean() / logits.shape[-1]
        case "probability":
            return torch.exp(-each).mean()
        case "bare":
            return -logits.gather(-1, targets[..., None]).mean()
    return each.mean()


CROSS_ENTROPY = Kind(
    "cross-entropy",
    "torch.nn.functional.cross_entropy",
    # Losses of other inputs, such as binary or linear ones, have another formula.
    re.compile(r"(?!\w*(binary|linear|soft|smooth|sigmoid))\w*cross_?entropy\w*", re.I),
    loss_inputs,
    cross_entropy,
    {"": "mean over all tokens"},
    causes({
        "sum": ("summed", "The losses are summed, not averaged.", "sum"),
        "positive": ("no_minus", "The sign is turned around.", "return"),
        "base two": ("base_two", "The logarithm has base 2.", "log2"),
        "base ten": ("base_ten", "The logarithm has base 10.", "log10"),
        "each": ("not_averaged", "The losses are not averaged.", "return"),
        "by class": ("averaged_over_classes", "The mean runs over the classes too.", "mean"),
        "probability": ("no_logarithm", "There is no logarithm.", "softmax"),
        "softmax twice": ("softmax_twice", "The softmax is applied twice.", "softmax"),
        "bare": ("no_softmax", "There is no softmax: the logits themselves are averaged.", "gather"),
    }),
)  # fmt: skip
KINDS = (SOFTMAX, RMS_NORM, LAYER_NORM, ROTARY, SINUSOIDAL, CROSS_ENTROPY)


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if kind.names.fullmatch(name)), None)
