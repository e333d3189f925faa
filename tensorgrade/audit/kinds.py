"""Formulas of softmax, norms, positions and a loss: right forms, and those of known mistakes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .formula import Mistake
from .roles import Sizes


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. inputs: draws the arguments, by role.
    formula: calculates the result from them in a form. right: the forms of conventions. wrong:
    those of known mistakes.
    """

    name: str
    names: str
    inputs: Callable[[Sizes], dict[str, Any]]
    formula: Callable[..., Tensor]
    right: tuple[str, ...]
    wrong: dict[str, Mistake]


def drawn(*shape: int, seed: int) -> Tensor:
    """Return normal numbers in double precision."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return a tensor of one of several shapes, and an axis."""
    shapes = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))
    shape, dim = shapes[sizes.seed % len(shapes)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


def softmax(x: Tensor, dim: int, form: str) -> Tensor:
    """Return a softmax, or a form with a mistake."""
    powers, rest = torch.exp(x), x - x.amax(dim, keepdim=True)
    forms: dict[str, Callable[[], Tensor]] = {
        "": lambda: torch.softmax(x, dim),
        "all": lambda: torch.softmax(x.flatten(), 0).view_as(x),
        "first axis": lambda: torch.softmax(x, 0),
        "last axis": lambda: torch.softmax(x, -1),
        "shares": lambda: x / x.sum(dim, keepdim=True),
        "shares of differences": lambda: rest / rest.sum(dim, keepdim=True),
        "powers": lambda: powers,
        "powers of differences": lambda: rest.exp(),
    }
    return forms[form]()


NOT_NORMALIZED = Mistake(
    "exponential_not_normalized", "exp", "The exponentials are not divided by their sum."
)
NO_EXPONENTIAL = Mistake(
    "no_exponential",
    "amax max sum",
    "There is no exponential: the numbers are divided by their sum.",
)
SOFTMAX = Kind(
    "softmax",
    r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?",
    softmax_inputs,
    softmax,
    ("",),
    {
        "all": Mistake("softmax_over_all", "sum", "All entries together sum to 1, not each row."),
        "first axis": Mistake("softmax_over_dimension_0", "dim axis sum", "The softmax runs over the first axis."),
        "last axis": Mistake("dim_ignored", "dim=-1 -1", "The `dim` that is passed in is ignored: the last axis is always used."),
        "shares": NO_EXPONENTIAL,
        "shares of differences": NO_EXPONENTIAL,
        "powers": NOT_NORMALIZED,
        "powers of differences": NOT_NORMALIZED,
    },
)  # fmt: skip


def norm_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return rows of numbers; those of the first sequence are so small that eps matters."""
    x = drawn(sizes.batch, sizes.tokens, sizes.width, seed=sizes.seed) + 0.5
    x[0] *= 2e-3
    return {"x": x}


def norm(x: Tensor, scale: Tensor, shift: Tensor, eps: float, form: str) -> Tensor:
    """Return a layer norm or, if the form has `rms`, a root-mean-square norm."""
    scale = 1 + scale if "one plus" in form else scale
    axis = 1 if "tokens" in form else -1
    count, centred = x.shape[axis], x - x.mean(axis, keepdim=True)
    spread = x if "rms" in form and "mean" not in form else centred
    square = spread.square().mean(axis, keepdim=True)
    square *= count / (count - 1) if "unbiased" in form else count if "sum" in form else 1
    eps = 0.0 if "no eps" in form else eps
    divisor = square.sqrt() + eps if "outside" in form else (square + eps).sqrt()
    found = (x if "not centred" in form else spread) / divisor
    return found * (1 if "no scale" in form else scale) + (0 if "no shift" in form else shift)


NO_SCALE = Mistake("scale_left_out", "return", "The scale is not applied.")
NO_EPS = Mistake("no_eps", "eps var", "There is no eps.")
LAYER_NORM = Kind(
    "layer norm",
    r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?",
    norm_inputs,
    norm,
    ("", "one plus"),  # one plus: the scale is 1 + its parameter
    {
        "unbiased": Mistake("unbiased_variance", "var std", "The variance is divided by d - 1 instead of d."),
        "outside": Mistake("eps_outside_the_root", "eps", "eps is added to the standard deviation, outside the root."),
        "unbiased outside": Mistake("unbiased_variance_and_eps_outside", "std var", "The variance is divided by d - 1 and eps is outside the root."),
        "not centred": Mistake("mean_not_subtracted", "mean", "The mean is not subtracted."),
        "no eps": NO_EPS,
        "tokens": Mistake("normed_over_tokens", "dim mean", "The norm runs over the tokens. It belongs on each token's own numbers."),
        "no scale": NO_SCALE,
        "no shift": Mistake("shift_left_out", "return", "The shift is not applied."),
    },
)  # fmt: skip
RMS_NORM = Kind(
    "RMS norm",
    r"\w*rms_?norm\w*",
    norm_inputs,
    norm,
    ("rms", "rms one plus", "rms outside"),  # outside: eps is outside the root
    {
        "rms mean": Mistake("mean_subtracted", "mean", "The mean is subtracted; an RMS norm leaves it."),
        "rms sum": Mistake("sum_of_squares", "sum", "The squares are summed, not averaged."),
        "rms no eps": NO_EPS,
        "rms no scale": NO_SCALE,
    },
)  # fmt: skip


def joined(one: Tensor, other: Tensor, neighbours: bool) -> Tensor:
    """Return vectors of pairs: neighbours, or entry i of the first and of the second half."""
    return torch.stack((one, other), -1).flatten(-2) if neighbours else torch.cat((one, other), -1)


def rates(exponents: Tensor, form: str) -> Tensor:
    """Return the rates of pairs, which fall unless the form has a mistake."""
    factors = {"doubled": 2.0, "halved": 0.5, "growing": -1.0}
    factor = next((one for word, one in factors.items() if word in form), 1.0)
    return 10000.0 ** -(factor * exponents)


def rotary_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return vectors and their positions, which have gaps and are in no order."""
    x = drawn(sizes.tokens, sizes.width, seed=sizes.seed)
    chance = torch.Generator().manual_seed(sizes.seed)
    return {"x": x, "positions": torch.randperm(sizes.tokens + 5, generator=chance)[5:]}


def rotary(x: Tensor, positions: Tensor, form: str) -> Tensor:
    """Return vectors (tokens, width) turned by their positions.

    form: mistakes, and `split`, `joined` and `angles` if pairs are neighbours there, not halves.
    """
    half = x.shape[-1] // 2
    angles = rates(torch.arange(half).double() / half, form) * positions[:, None]
    cos, sin = angles.cos(), angles.sin() * (-1 if "backwards" in form else 1)
    cos, sin = (joined(one, one, "angles" in form) for one in (cos, sin))
    one, other = (x[..., ::2], x[..., 1::2]) if "split" in form else x.chunk(2, -1)
    minus = other if "no minus" in form else -other
    both = "joined" in form
    return joined(one, other, both) * cos + joined(minus, one, both) * sin


NEIGHBOURS = "split joined angles"
MIXED = "Two conventions are mixed:"
WRONG_RATES = {
    "doubled": Mistake("exponent_doubled", "** pow exp", "The exponent is twice what it should be."),
    "halved": Mistake("exponent_halved", "** pow exp", "The exponent is half of what it should be."),
    "growing": Mistake("exponent_sign", "** pow exp", "The rates grow; they should fall from pair to pair."),
}  # fmt: skip
WRONG_TURNS = WRONG_RATES | {
    "backwards": Mistake("turned_backwards", "sin", "The turn has the other direction."),
    "no minus": Mistake("no_minus", "sin", "The turn lacks its minus sign."),
}
ROTARY = Kind(
    "rotary positions",
    r"rotate|\w*(rope|rotary)\w*",
    rotary_inputs,
    rotary,
    ("", NEIGHBOURS),
    {
        "angles": Mistake("angles_of_neighbours", "repeat_interleave stack", f"{MIXED} the angles are laid out for neighbours (a a b b), the turn is that of halves."),
        "split joined": Mistake("angles_of_halves", "cat repeat", f"{MIXED} the angles are laid out for halves (a b a b), the turn is that of neighbours."),
        "split": Mistake("neighbours_split_halves_joined", "cat", f"{MIXED} pairs are split as neighbours and joined as halves."),
        "joined angles": Mistake("halves_split_neighbours_joined", "stack", f"{MIXED} pairs are split as halves and joined as neighbours."),
        **WRONG_TURNS,
        **{f"{form} {NEIGHBOURS}": one for form, one in WRONG_TURNS.items()},
    },
)  # fmt: skip


def sinusoidal_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return the number of positions and their width."""
    return {"count": sizes.tokens + 2, "width": sizes.width}


def sinusoidal(count: int, width: int, form: str) -> Tensor:
    """Return sines and cosines that alternate, or halves of them; `end`: up to the last rate."""
    half = width // 2
    exponents = torch.arange(half).double() / (half - 1 if "end" in form else half)
    angles = torch.arange(count)[:, None] * rates(exponents, form)
    both = angles.sin(), angles.cos()
    one, other = both[::-1] if "swapped" in form else both
    return joined(one, other, "halves" not in form)


SINUSOIDAL = Kind(
    "sinusoidal positions",
    r"\w*(sinusoid|sin_?cos|positional_?enc)\w*",
    sinusoidal_inputs,
    sinusoidal,
    ("", "halves", "halves end", "end"),
    {
        "swapped": Mistake("sines_and_cosines_swapped", "sin cos", "Sines and cosines are swapped."),
        **WRONG_RATES,
    },
)  # fmt: skip


def loss_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return logits (batch, tokens, classes) and targets (batch, tokens)."""
    chance = torch.Generator().manual_seed(sizes.seed)
    shape, classes = (sizes.batch, sizes.tokens), sizes.width + 1
    targets = torch.randint(classes, shape, generator=chance)
    return {"logits": drawn(*shape, classes, seed=sizes.seed), "targets": targets}


def cross_entropy(logits: Tensor, targets: Tensor, form: str) -> Tensor:
    """Return the mean cross-entropy of all tokens, or a form with a mistake."""
    logits = logits.softmax(-1) if form == "softmax twice" else logits
    logs = logits if form == "no softmax" else logits.log_softmax(-1)
    each = -logs.gather(-1, targets[..., None]).squeeze(-1)
    forms = {"summed": each.sum(), "no minus": -each.mean(), "not averaged": each}
    return forms.get(form, each.mean())


CROSS_ENTROPY = Kind(
    "cross-entropy",
    # Losses of other inputs, such as binary or linear ones, have another formula.
    r"(?!\w*(binary|linear|soft|smooth|sigmoid))\w*cross_?entropy\w*",
    loss_inputs,
    cross_entropy,
    ("",),
    {
        "summed": Mistake("summed", "sum", "The losses are summed, not averaged."),
        "no minus": Mistake("no_minus", "return", "The sign is turned around."),
        "not averaged": Mistake("not_averaged", "return", "The losses are not averaged."),
        "softmax twice": Mistake("softmax_twice", "softmax", "The softmax is applied twice."),
        "no softmax": Mistake("no_softmax", "gather", "There is no softmax: the logits themselves are averaged."),
    },
)  # fmt: skip
KINDS = (SOFTMAX, RMS_NORM, LAYER_NORM, ROTARY, SINUSOIDAL, CROSS_ENTROPY)


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if re.fullmatch(kind.names, name, re.I)), None)
