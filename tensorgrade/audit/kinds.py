"""Formulas of softmax, norms, positions and losses: the parts of attention and of models with it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .formula import Cause
from .roles import Sizes

Formula = Callable[..., Tensor]


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. inputs: draws the arguments, by role. right:
    the formula by convention. wrong: those of known mistakes.
    """

    name: str
    names: str
    inputs: Callable[[Sizes], dict[str, Any]]
    right: dict[str, Formula]
    wrong: list[tuple[Formula, Cause]]


def forms(formula: Formula, table: dict[str, tuple[str, str, str]]) -> list[tuple[Formula, Cause]]:
    """Return known mistakes that a formula makes if its argument `how` is one of the keys.

    table: for each a name, words on the line that it may be on, and a sentence.
    """
    return [
        (partial(formula, how=how), Cause(name, sentence, where))
        for how, (name, where, sentence) in table.items()
    ]


def drawn(*shape: int, seed: int) -> Tensor:
    """Return normal numbers in double precision."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return a tensor of one of several shapes, and an axis."""
    shapes = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))
    shape, dim = shapes[sizes.seed % len(shapes)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


NOT_NORMALIZED = Cause(
    "exponential_not_normalized", "The exponentials are not divided by their sum.", "exp"
)
NO_EXPONENTIAL = Cause(
    "no_exponential",
    "There is no exponential: the numbers are divided by their sum.",
    "amax max sum",
)
SOFTMAX = Kind(
    "softmax",
    r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?",
    softmax_inputs,
    {"along the last axis": torch.softmax},
    [
        (lambda x, dim: torch.softmax(x.flatten(), 0).view_as(x), Cause("softmax_over_all", "All entries together sum to 1, not each row.", "sum")),
        (lambda x, dim: torch.softmax(x, 0), Cause("softmax_over_dimension_0", "The softmax runs over the first axis.", "dim axis sum")),
        (lambda x, dim: torch.softmax(x, -1), Cause("dim_ignored", "The `dim` that is passed in is ignored: the last axis is always used.", "dim=-1 -1")),
        (lambda x, dim: (x - x.amax(dim, True)) / (x - x.amax(dim, True)).sum(dim, True), NO_EXPONENTIAL),
        (lambda x, dim: x / x.sum(dim, True), NO_EXPONENTIAL),
        (lambda x, dim: (x - x.amax(dim, True)).exp(), NOT_NORMALIZED),
        (lambda x, dim: x.exp(), NOT_NORMALIZED),
    ],
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
    axes = (1,) if how == "tokens" else (-1,)
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, unbiased="unbiased" in how)
    eps = 0.0 if how == "no eps" else eps
    divisor = variance.sqrt() + eps if "outside" in how else (variance + eps).sqrt()
    found = (x if how == "no mean" else x - mean) / divisor
    return found * (1 if how == "no scale" else scale) + (0 if how == "no shift" else shift)


LAYER_NORM = Kind(
    "layer norm",
    r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?",
    norm_inputs,
    {"": layer_norm, "a scale that is 1 + its parameter": partial(layer_norm, how="one plus")},
    forms(layer_norm, {
        "unbiased": ("unbiased_variance", "var std", "The variance is divided by d - 1 instead of d."),
        "outside": ("eps_outside_the_root", "eps", "eps is added to the standard deviation, outside the root."),
        "unbiased outside": ("unbiased_variance_and_eps_outside", "std var", "The variance is divided by d - 1 and eps is outside the root."),
        "no mean": ("mean_not_subtracted", "mean", "The mean is not subtracted."),
        "no eps": ("no_eps", "eps var", "There is no eps."),
        "tokens": ("normed_over_tokens", "dim mean", "The norm runs over the tokens. It belongs on each token's own numbers."),
        "no scale": ("scale_left_out", "return", "The scale is not applied."),
        "no shift": ("shift_left_out", "return", "The shift is not applied."),
    }),
)  # fmt: skip


def rms_norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float, how: str = "") -> Tensor:
    """Return a root-mean-square norm, or one with a mistake."""
    scale = {"one plus": 1 + shift, "no scale": torch.ones_like(scale)}.get(how, scale)
    x = x - x.mean(-1, keepdim=True) if how == "mean" else x
    square = x.square().mean(-1, keepdim=True) * (x.shape[-1] if how == "sum" else 1)
    if how == "outside":
        return x / (square.sqrt() + eps) * scale
    square = square + (0.0 if how == "no eps" else eps)
    return x / square.sqrt() * scale


RMS_NORM = Kind(
    "RMS norm",
    r"\w*rms_?norm\w*",
    norm_inputs,
    {"": rms_norm, "a scale that is 1 + its parameter": partial(rms_norm, how="one plus"), "eps outside the root": partial(rms_norm, how="outside")},
    forms(rms_norm, {
        "mean": ("mean_subtracted", "mean", "The mean is subtracted; an RMS norm leaves it."),
        "sum": ("sum_of_squares", "sum", "The squares are summed, not averaged."),
        "no eps": ("no_eps", "eps", "There is no eps."),
        "no scale": ("scale_left_out", "return", "The scale is not applied."),
    }),
)  # fmt: skip


def rotary_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return vectors and their positions, which have gaps and are in no order."""
    x = drawn(sizes.tokens, sizes.width, seed=sizes.seed)
    chance = torch.Generator().manual_seed(sizes.seed)
    return {"x": x, "positions": torch.randperm(sizes.tokens + 5, generator=chance)[5:]}


def exponents_of(steps: Tensor, how: str) -> Tensor:
    """Return the exponents of the rates of pairs, right ones or with a mistake."""
    times = {"doubled": 2.0, "halved": 0.5, "growing": -1.0}
    return steps * next((factor for word, factor in times.items() if word in how), 1.0)


def rotary(x: Tensor, positions: Tensor, how: str = "") -> Tensor:
    """Return vectors turned by their positions, in pairs of halves or, by `how`, of neighbours."""
    half = x.shape[-1] // 2
    exponents = exponents_of(torch.arange(half, dtype=x.dtype) / half, how)
    angles = positions[:, None].to(x.dtype) * 10000.0**-exponents
    cos, sin = torch.cos(angles), torch.sin(-angles if "backwards" in how else angles)
    if how == "angles of neighbours":
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
        one, other = x.chunk(2, -1)
        return x * cos + torch.cat((-other, one), -1) * sin
    if how == "angles of halves":
        cos, sin = cos.repeat(1, 2), sin.repeat(1, 2)
        return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin
    splits = how.startswith("neighbours")
    joins = splits != ("split," in how)  # split as one, joined as the other
    one, other = (x[..., ::2], x[..., 1::2]) if splits else x.chunk(2, -1)
    minus = 1 if "no minus" in how else -1
    both = (one * cos + minus * other * sin, other * cos + one * sin)
    return torch.stack(both, -1).flatten(-2) if joins else torch.cat(both, -1)


WRONG_TURNS = {
    "backwards": ("turned_backwards", "sin", "The turn has the other direction."),
    "doubled": ("exponent_doubled", "** pow exp", "The exponent is twice what it should be."),
    "halved": ("exponent_halved", "** pow exp", "The exponent is half of what it should be."),
    "no minus": ("no_minus", "sin", "The turn lacks its minus sign."),
}
MIXED = "Two conventions are mixed:"
ROTARY = Kind(
    "rotary positions",
    r"rotate|\w*(rope|rotary)\w*",
    rotary_inputs,
    {"pairs of halves": rotary, "pairs of neighbours": partial(rotary, how="neighbours")},
    forms(rotary, {
        "angles of neighbours": ("angles_of_neighbours", "repeat_interleave stack", f"{MIXED} the angles are laid out for neighbours (a a b b), the turn is that of halves."),
        "angles of halves": ("angles_of_halves", "cat repeat", f"{MIXED} the angles are laid out for halves (a b a b), the turn is that of neighbours."),
        "neighbours split, halves joined": ("neighbours_split_halves_joined", "cat", f"{MIXED} pairs are split as neighbours and joined as halves."),
        "halves split, neighbours joined": ("halves_split_neighbours_joined", "stack", f"{MIXED} pairs are split as halves and joined as neighbours."),
        **WRONG_TURNS,
        **{f"neighbours {how}": cause for how, cause in WRONG_TURNS.items()},
        "growing": ("exponent_sign", "** pow exp", "The rates grow; they should fall from pair to pair."),
    }),
)  # fmt: skip


def sinusoidal_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return the number of positions and their width."""
    return {"count": sizes.tokens + 2, "width": sizes.width}


def sinusoidal(count: int, width: int, how: str = "") -> Tensor:
    """Return sinusoidal positions in a convention, or with a mistake."""
    half = (width + 1) // 2
    steps = torch.arange(half, dtype=torch.float64)
    steps = steps / (half - 1) if "end" in how and half > 1 else 2 * steps / width
    positions = torch.arange(count, dtype=torch.float64)[:, None]
    angles = positions / 10000.0 ** exponents_of(steps, how)
    one, other = angles.sin(), angles.cos()
    one, other = (other, one) if how == "swapped" else (one, other)
    if "halves" in how:
        return torch.cat((one, other), -1)[:, :width]
    return torch.stack((one, other), -1).flatten(1)[:, :width]


SINUSOIDAL = Kind(
    "sinusoidal positions",
    r"\w*(sinusoid|sin_?cos|positional_?enc)\w*",
    sinusoidal_inputs,
    {
        "sines and cosines alternate": sinusoidal,
        "sines, then cosines": partial(sinusoidal, how="halves"),
        "sines, then cosines, up to the last rate": partial(sinusoidal, how="halves end"),
        "alternating, up to the last rate": partial(sinusoidal, how="end"),
    },
    forms(sinusoidal, {
        "swapped": ("sines_and_cosines_swapped", "sin cos", "Sines and cosines are swapped."),
        "doubled": WRONG_TURNS["doubled"],
        "halved": WRONG_TURNS["halved"],
        "growing": ("exponent_sign", "** pow exp", "The waves get shorter; they should get longer."),
    }),
)  # fmt: skip


def loss_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return logits (batch, tokens, classes) and targets (batch, tokens)."""
    chance = torch.Generator().manual_seed(sizes.seed)
    shape, classes = (sizes.batch + 2, sizes.tokens), sizes.width + 1
    targets = torch.randint(classes, shape, generator=chance)
    return {"logits": drawn(*shape, classes, seed=sizes.seed), "targets": targets}


def each_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the cross-entropy of each target."""
    each = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return each.view(targets.shape)


CROSS_ENTROPY = Kind(
    "cross-entropy",
    # Losses of other inputs, such as binary or linear ones, have another formula.
    r"(?!\w*(binary|linear|soft|smooth|sigmoid))\w*cross_?entropy\w*",
    loss_inputs,
    {"mean over all tokens": lambda x, y: each_loss(x, y).mean()},
    [
        (lambda x, y: each_loss(x, y).sum(), Cause("summed", "The losses are summed, not averaged.", "sum")),
        (lambda x, y: -each_loss(x, y).mean(), Cause("no_minus", "The sign is turned around.", "return")),
        (each_loss, Cause("not_averaged", "The losses are not averaged.", "return")),
        (lambda x, y: each_loss(torch.softmax(x, -1), y).mean(), Cause("softmax_twice", "The softmax is applied twice.", "softmax")),
        (lambda x, y: -x.gather(-1, y[..., None]).mean(), Cause("no_softmax", "There is no softmax: the logits themselves are averaged.", "gather")),
    ],
)  # fmt: skip
KINDS = (SOFTMAX, RMS_NORM, LAYER_NORM, ROTARY, SINUSOIDAL, CROSS_ENTROPY)


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if re.fullmatch(kind.names, name, re.I)), None)
