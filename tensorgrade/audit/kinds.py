"""Formulas of softmax, norms and positions: right forms, and those of known mistakes."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from .code import CannotRun, Made
from .formula import Mistake
from .roles import Sizes

USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. takes: the arguments of a function, in their
    order; a module is called on `x`. inputs: draws the arguments, by role. formula: calculates the
    possible results of a form from the weights and the inputs. forms: the right ones of
    conventions, without a mistake, and those of known mistakes.
    """

    name: str
    names: str
    takes: tuple[str, ...]
    inputs: Callable[[Sizes], dict[str, Any]]
    formula: Callable[..., Iterable[Tensor]]
    forms: dict[str, Mistake | None]

    def results(
        self, form: str, made: Made, inputs: dict[str, Any], sizes: Sizes
    ) -> Iterable[Tensor]:
        """Return the possible results of a form."""
        return self.formula(form, [*made.weights.values()], **inputs)


def drawn(*shape: int, seed: int) -> Tensor:
    """Return normal numbers in double precision."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=chance, dtype=torch.float64)


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return a tensor of one of several shapes, and an axis."""
    shapes = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))
    shape, dim = shapes[sizes.seed % len(shapes)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


def softmax(form: str, weights: list[Tensor], x: Tensor, dim: int) -> list[Tensor]:
    """Return a softmax, or a form with a mistake."""
    x = x - x.amax(dim, keepdim=True) if "differences" in form else x
    powers = x if "shares" in form else torch.exp(x)
    axis = {"first axis": 0, "last axis": -1}.get(form, dim)
    total = powers.sum() if form == "all" else powers.sum(axis, keepdim=True)
    return [powers if "powers" in form else powers / total]


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
    ("x", "dim"),
    softmax_inputs,
    softmax,
    {
        "": None,
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


def norm(form: str, weights: list[Tensor], x: Tensor) -> Iterator[Tensor]:
    """Yield layer norms or, if the form has `rms`, root-mean-square norms, with each usual eps.

    Either of two weights can be the scale, and the other one the shift.
    """
    axis = 1 if "tokens" in form else -1
    count, centred = x.shape[axis], x - x.mean(axis, keepdim=True)
    spread = x if "rms" in form and "mean" not in form else centred
    square = spread.square().mean(axis, keepdim=True)
    square *= count / (count - 1) if "unbiased" in form else count if "sum" in form else 1
    width = x.shape[-1]
    own = [one.flatten() for one in weights if one.numel() == width] or [torch.ones(width)]
    pairs = permutations([*own, torch.zeros(width)][:2])
    for (scale, shift), eps in product(pairs, (0.0,) if "no eps" in form else USUAL_EPS):
        divisor = square.sqrt() + eps if "outside" in form else (square + eps).sqrt()
        made = (x if "not centred" in form else spread) / divisor
        scale = 1 + scale if "one plus" in form else scale
        yield made * (1 if "no scale" in form else scale) + (0 if "no shift" in form else shift)


NO_SCALE = Mistake("scale_left_out", "return", "The scale is not applied.")
NO_EPS = Mistake("no_eps", "eps var", "There is no eps.")
LAYER_NORM = Kind(
    "layer norm",
    r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?",
    ("x",),
    norm_inputs,
    norm,
    {
        "": None,
        "one plus": None,  # the scale is 1 + its parameter
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
    ("x",),
    norm_inputs,
    norm,
    {
        "rms": None,
        "rms one plus": None,
        "rms outside": None,  # eps is outside the root
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


def rotary(form: str, weights: list[Tensor], x: Tensor, positions: Tensor) -> list[Tensor]:
    """Return vectors (tokens, width) turned by their positions.

    form: mistakes, and `split`, `joined` and `angles` if pairs are neighbours there, not halves.
    """
    half = x.shape[-1] // 2
    angles = rates(torch.arange(half).double() / half, form) * positions[:, None]
    cos, sin = angles.cos(), angles.sin() * (-1 if "backwards" in form else 1)
    cos, sin = (joined(one, one, "angles" in form) for one in (cos, sin))
    one, other = (x[..., ::2], x[..., 1::2]) if "split" in form else x.chunk(2, -1)
    minus, both = other if "no minus" in form else -other, "joined" in form
    return [joined(one, other, both) * cos + joined(minus, one, both) * sin]


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
    r"rotate|rope|rotary|apply_?(rope|rotary)\w*",  # a RotaryEmbedding may return angles
    ("x", "positions"),
    rotary_inputs,
    rotary,
    {
        "": None,
        NEIGHBOURS: None,
        "angles": Mistake("angles_of_neighbours", "repeat_interleave stack", f"{MIXED} the angles are laid out for neighbours (a a b b), the turn is that of halves."),
        "split joined": Mistake("angles_of_halves", "cat repeat", f"{MIXED} the angles are laid out for halves (a b a b), the turn is that of neighbours."),
        "split": Mistake("neighbours_split_halves_joined", "cat", f"{MIXED} pairs are split as neighbours and joined as halves."),
        "joined angles": Mistake("halves_split_neighbours_joined", "stack", f"{MIXED} pairs are split as halves and joined as neighbours."),
        **WRONG_TURNS,
        **{f"{form} {NEIGHBOURS}": one for form, one in WRONG_TURNS.items()},
    },
)  # fmt: skip


def sinusoidal_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return the number of positions, their width, and what a module adds them to."""
    count, width = sizes.tokens + 2, sizes.width  # of both axes, since either can be that of tokens
    return {"count": count, "width": width, "x": torch.zeros(count, count, width).double()}


def sinusoidal(
    form: str, weights: list[Tensor], count: int, width: int, x: Tensor
) -> tuple[Tensor, ...]:
    """Return sines and cosines that alternate, or halves of them; `end`: up to the last rate.

    They are alone, or added along the second or the first axis. Raises CannotRun.
    """
    if weights:
        raise CannotRun("its positions are learned")
    half = width // 2
    exponents = torch.arange(half).double() / (half - 1 if "end" in form else half)
    angles = torch.arange(count)[:, None] * rates(exponents, form)
    one, other = angles.sin(), angles.cos()
    one, other = (other, one) if "swapped" in form else (one, other)
    made = joined(one, other, "halves" not in form)
    return made, x + made, x + made[:, None]


SINUSOIDAL = Kind(
    "sinusoidal positions",
    r"\w*(sinusoid|sin_?cos|positional_?enc)\w*",
    ("count", "width"),
    sinusoidal_inputs,
    sinusoidal,
    {
        **dict.fromkeys(("", "halves", "halves end", "end")),
        "swapped": Mistake("sines_and_cosines_swapped", "sin cos", "Sines and cosines are swapped."),
        **WRONG_RATES,
    },
)  # fmt: skip


KINDS = (SOFTMAX, RMS_NORM, LAYER_NORM, ROTARY, SINUSOIDAL)


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if re.fullmatch(kind.names, name, re.I)), None)
