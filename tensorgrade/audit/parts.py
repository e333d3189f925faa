"""Parts of attention: softmax, norms and positions, each with right forms and known mistakes."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor

from .code import CannotRun, Mistake
from .roles import Sizes

USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)
MIXED = "Two conventions are mixed:"


@dataclass(frozen=True)
class Kind:
    """One kind of part, such as a layer norm.

    names: a pattern for the names of its definitions. takes: the arguments of a function, in their
    order; a module is called on `x`. inputs: draws the arguments, by role. results: calculates the
    possible results of a form from the weights and the inputs. forms: the right ones of
    conventions, without a mistake, and those of known mistakes.
    """

    name: str
    names: str
    takes: tuple[str, ...]
    inputs: Callable[[Sizes], dict[str, Any]]
    results: Callable[..., Iterable[Tensor]]
    forms: dict[str, Mistake | None]


def drawn(*shape: int, seed: int) -> Tensor:
    """Return normal numbers."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return a tensor of one of several shapes, and an axis."""
    shapes = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))
    shape, dim = shapes[sizes.seed % len(shapes)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


def softmax(form: str, weights: list[Tensor], x: Tensor, dim: int) -> Iterator[Tensor]:
    """Yield a softmax, or a form with a mistake: of the numbers, and of those less the largest."""
    for one in (x, x - x.amax(dim, keepdim=True)):
        powers = one if form == "shares" else one.exp()
        axis = {"first axis": 0, "last axis": -1}.get(form, dim)
        total = powers.sum() if form == "all" else powers.sum(axis, keepdim=True)
        yield powers if form == "powers" else powers / total


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
    chance = torch.Generator().manual_seed(sizes.seed)
    positions = torch.randperm(sizes.tokens + 5, generator=chance)[5:]
    return {"x": drawn(sizes.tokens, sizes.width, seed=sizes.seed), "positions": positions}


def rotary(form: str, weights: list[Tensor], x: Tensor, positions: Tensor) -> list[Tensor]:
    """Return vectors (tokens, width) turned by their positions.

    form: mistakes, and `split`, `joined` and `angles` if pairs are neighbours there, not halves.
    """
    half = x.shape[-1] // 2
    angles = rates(torch.arange(half) / half, form) * positions[:, None]
    cos, sin = angles.cos(), angles.sin() * (-1 if "backwards" in form else 1)
    cos, sin = (joined(one, one, "angles" in form) for one in (cos, sin))
    one, other = (x[..., ::2], x[..., 1::2]) if "split" in form else x.chunk(2, -1)
    minus, both = other if "no minus" in form else -other, "joined" in form
    return [joined(one, other, both) * cos + joined(minus, one, both) * sin]


def sinusoidal_inputs(sizes: Sizes) -> dict[str, Any]:
    """Return the number of positions, their width, and what a module adds them to."""
    count, width = sizes.tokens + 2, sizes.width  # of both axes, since either can be that of tokens
    return {"count": count, "width": width, "x": torch.zeros(count, count, width)}


def sinusoidal(
    form: str, weights: list[Tensor], count: int, width: int, x: Tensor
) -> tuple[Tensor, ...]:
    """Return sines and cosines that alternate, or halves of them; `end`: up to the last rate.

    They are alone, or added along the second or the first axis. Raises CannotRun.
    """
    if weights:
        raise CannotRun("its positions are learned")
    half = width // 2
    exponents = torch.arange(half) / (half - 1 if "end" in form else half)
    angles = torch.arange(count)[:, None] * rates(exponents, form)
    one, other = angles.sin(), angles.cos()
    one, other = (other, one) if "swapped" in form else (one, other)
    made = joined(one, other, "halves" not in form)
    return made, x + made, x + made[:, None]


NO_EPS = Mistake("no_eps", "eps var", "There is no eps.")
NO_SCALE = Mistake("scale_left_out", "return", "The scale is not applied.")
WRONG_RATES = {
    "doubled": Mistake("exponent_doubled", "** pow exp", "The exponent is twice what it should be."),
    "halved": Mistake("exponent_halved", "** pow exp", "The exponent is half of what it should be."),
    "growing": Mistake("exponent_sign", "** pow exp", "The rates grow; they should fall from pair to pair."),
}  # fmt: skip
WRONG_TURNS = WRONG_RATES | {
    "backwards": Mistake("turned_backwards", "sin", "The turn has the other direction."),
    "no minus": Mistake("no_minus", "sin", "The turn lacks its minus sign."),
}
NEIGHBOURS = "split joined angles"
KINDS = (
    Kind("softmax", r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?", ("x", "dim"), softmax_inputs, softmax, {
        "": None,
        "all": Mistake("softmax_over_all", "sum", "All entries together sum to 1, not each row."),
        "first axis": Mistake("softmax_over_dimension_0", "dim axis sum", "The softmax runs over the first axis."),
        "last axis": Mistake("dim_ignored", "dim=-1 -1", "The `dim` that is passed in is ignored: the last axis is always used."),
        "shares": Mistake("no_exponential", "amax max sum", "There is no exponential: the numbers are divided by their sum."),
        "powers": Mistake("exponential_not_normalized", "exp", "The exponentials are not divided by their sum."),
    }),
    Kind("RMS norm", r"\w*rms_?norm\w*", ("x",), norm_inputs, norm, {
        "rms": None,
        "rms one plus": None,  # the scale is 1 + its parameter
        "rms outside": None,  # eps is outside the root
        "rms mean": Mistake("mean_subtracted", "mean", "The mean is subtracted; an RMS norm leaves it."),
        "rms sum": Mistake("sum_of_squares", "sum", "The squares are summed, not averaged."),
        "rms no eps": NO_EPS,
        "rms no scale": NO_SCALE,
    }),
    Kind("layer norm", r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?", ("x",), norm_inputs, norm, {
        "": None,
        "one plus": None,
        "unbiased": Mistake("unbiased_variance", "var std", "The variance is divided by d - 1 instead of d."),
        "outside": Mistake("eps_outside_the_root", "eps", "eps is added to the standard deviation, outside the root."),
        "unbiased outside": Mistake("unbiased_variance_and_eps_outside", "std var", "The variance is divided by d - 1 and eps is outside the root."),
        "not centred": Mistake("mean_not_subtracted", "mean", "The mean is not subtracted."),
        "no eps": NO_EPS,
        "tokens": Mistake("normed_over_tokens", "dim mean", "The norm runs over the tokens. It belongs on each token's own numbers."),
        "no scale": NO_SCALE,
        "no shift": Mistake("shift_left_out", "return", "The shift is not applied."),
    }),
    # A RotaryEmbedding may return angles.
    Kind("rotary positions", r"rotate|rope|rotary|apply_?(rope|rotary)\w*", ("x", "positions"), rotary_inputs, rotary, {
        "": None,
        NEIGHBOURS: None,
        "angles": Mistake("angles_of_neighbours", "repeat_interleave stack", f"{MIXED} the angles are laid out for neighbours (a a b b), the turn is that of halves."),
        "split joined": Mistake("angles_of_halves", "cat repeat", f"{MIXED} the angles are laid out for halves (a b a b), the turn is that of neighbours."),
        "split": Mistake("neighbours_split_halves_joined", "::2 cat", f"{MIXED} pairs are split as neighbours and joined as halves."),
        "joined angles": Mistake("halves_split_neighbours_joined", "stack", f"{MIXED} pairs are split as halves and joined as neighbours."),
        **WRONG_TURNS,
        **{f"{form} {NEIGHBOURS}": one for form, one in WRONG_TURNS.items()},
    }),
    Kind("sinusoidal positions", r"\w*(sinusoid|sin_?cos|positional_?enc)\w*", ("count", "width"), sinusoidal_inputs, sinusoidal, {
        **dict.fromkeys(("", "halves", "halves end", "end")),
        "swapped": Mistake("sines_and_cosines_swapped", "sin cos", "Sines and cosines are swapped."),
        **WRONG_RATES,
    }),
)  # fmt: skip


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if re.fullmatch(kind.names, name, re.I)), None)
