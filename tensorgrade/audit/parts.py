"""What attention is made of, and what stands next to it: softmax, norms, positions, losses.

Each kind has formulas that are right, each with a name, and known mistakes with a sentence.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .reference import Cause
from .roles import CALL, CONSTRUCTOR, Sizes, parameters_of, role_of
from .subject import CannotRun, line_raising, raised, scale_of

Formula = Callable[..., Tensor]
CLOSE = 1e-5


@dataclass(frozen=True)
class Wrong:
    """A known mistake of a part: a name, a sentence, its formula, and words on its line."""

    name: str
    sentence: str
    formula: Formula
    where: str = "return"

    @property
    def cause(self) -> Cause:
        """Return the mistake without its formula."""
        return Cause(self.name, self.sentence, tuple(self.where.split()))


@dataclass(frozen=True)
class Kind:
    """One kind of part.

    names: a pattern for its name. inputs: draws the arguments at some sizes, by role. right: by
    convention, formulas that are equally right.
    """

    name: str
    names: re.Pattern[str]
    inputs: Callable[[Sizes], dict[str, Any]]
    right: dict[str, Formula]
    wrong: tuple[Wrong, ...]
    source: str


def drawn(*shape: int, seed: int, factor: float = 1.0) -> Tensor:
    """Return normal numbers in double precision."""
    chance = torch.Generator().manual_seed(seed)
    return factor * torch.randn(*shape, generator=chance, dtype=torch.float64)


def softmax_inputs(sizes: Sizes) -> dict[str, Any]:
    shape, dim = SHAPES[sizes.seed % len(SHAPES)]
    return {"x": drawn(*shape, seed=sizes.seed), "dim": dim}


SHAPES = (((3, 6), -1), ((2, 4, 5), 0), ((2, 3, 4, 2, 3), 2), ((2, 40), 1))


def over_all(x: Tensor) -> Tensor:
    return x.exp() / x.exp().sum()


SOFTMAX = Kind(
    "softmax",
    re.compile(r"(my_?|stable_?|safe_?|row_?|masked_?)?softmax(_?(stable|safe|fn|rows))?", re.I),
    softmax_inputs,
    {"along the last axis": lambda x, dim=-1: torch.softmax(x, dim)},
    (
        Wrong("softmax_over_all", "All entries together sum to 1, not each row.", lambda x, dim=-1: over_all(x), "sum"),
        Wrong("softmax_over_dimension_0", "The softmax runs over the first axis.", lambda x, dim=-1: torch.softmax(x, 0), "dim axis sum"),
        Wrong("softmax_over_all", "All entries together sum to 1, not each row.", lambda x, dim=-1: over_all(x - x.amax(dim, True)), "sum"),
        Wrong("dim_ignored", "The `dim` that is passed in is ignored: the last axis is always used.", lambda x, dim=-1: torch.softmax(x, -1), "dim=-1 -1"),
        Wrong("no_exponential", "There is no exponential: the numbers are divided by their sum.", lambda x, dim=-1: (x - x.amax(dim, True)) / (x - x.amax(dim, True)).sum(dim, True), "amax max"),
        Wrong("divided_by_sum_of_inputs", "The exponentials are divided by the sum of the inputs.", lambda x, dim=-1: (x - x.amax(dim, True)).exp() / x.sum(dim, True), "sum"),
        Wrong("log_softmax", "Logarithms of the shares come back.", lambda x, dim=-1: torch.log_softmax(x, dim), "log"),
        Wrong("exponential_not_normalized", "The exponentials are not divided by their sum.", lambda x, dim=-1: (x - x.amax(dim, True)).exp(), "exp"),
        Wrong("exponential_not_normalized", "The exponentials are not divided by their sum.", lambda x, dim=-1: x.exp(), "exp"),
        Wrong("no_exponential", "There is no exponential: the numbers are divided by their sum.", lambda x, dim=-1: x / x.sum(dim, True), "sum"),
        Wrong("sigmoid", "A sigmoid takes the place of the softmax.", lambda x, dim=-1: x.sigmoid(), "sigmoid"),
        Wrong("base_two", "The base of the powers is not e.", lambda x, dim=-1: torch.softmax(x * 2.0**0 * 0.6931471805599453, dim), "** exp2"),
        Wrong("exponential_of_negative", "The sign is turned around: the smallest number gets the largest share.", lambda x, dim=-1: torch.softmax(-x, dim), "exp -"),
        Wrong("divided_by_mean", "The exponentials are divided by their mean.", lambda x, dim=-1: torch.softmax(x, dim) * x.shape[dim], "mean"),
        Wrong("divided_by_maximum", "The exponentials are divided by the largest one.", lambda x, dim=-1: (x - x.amax(dim, True)).exp(), "max"),
    ),
    "torch.softmax",
)  # fmt: skip


def norm_inputs(sizes: Sizes) -> dict[str, Any]:
    x = drawn(sizes.batch, sizes.tokens, sizes.width, seed=sizes.seed) + 0.5
    x[0] *= 2e-3  # rows so small that eps matters
    return {"x": x}


def normed(x: Tensor, scale: Tensor, shift: Tensor, eps: float, how: str = "") -> Tensor:
    """Return a layer norm, or one with a mistake."""
    axes = (
        (1, 2)
        if how == "all tokens"
        else (1,)
        if how == "tokens"
        else (0,)
        if how == "batch"
        else (-1,)
    )
    mean = x.mean(axes, keepdim=True)
    variance = x.var(axes, keepdim=True, unbiased=how == "unbiased" or "unbiased" in how)
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


def wrong_norms() -> tuple[Wrong, ...]:
    """Return the known mistakes of a layer norm."""
    table = {
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
    }  # fmt: skip
    return tuple(
        Wrong(
            name,
            said,
            lambda x, scale, shift, eps, how=how: normed(x, scale, shift, eps, how),
            where,
        )
        for how, (name, said, where) in table.items()
    )


LAYER_NORM = Kind(
    "layer norm",
    re.compile(r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?", re.I),
    norm_inputs,
    {
        "": normed,
        "a scale that is 1 + its parameter": lambda x, scale, shift, eps: normed(
            x, 1 + shift, torch.zeros_like(shift), eps
        ),
    },
    wrong_norms(),
    "Ba et al. 2016, equation 4",
)


def rms(x: Tensor, scale: Tensor, shift: Tensor, eps: float, how: str = "") -> Tensor:
    """Return a root-mean-square norm, or one with a mistake."""
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
    re.compile(r"\w*rms_?norm\w*", re.I),
    norm_inputs,
    {
        "": rms,
        "a scale that is 1 + its parameter": lambda x, scale, shift, eps: rms(x, 1 + shift, shift, eps),
        "eps outside the root": lambda x, scale, shift, eps: rms(x, scale, shift, eps, "outside"),

    },
    (
        Wrong("mean_subtracted", "The mean is subtracted; an RMS norm leaves it.", lambda x, scale, shift, eps: rms(x, scale, shift, eps, "mean"), "mean"),
        Wrong("sum_of_squares", "The squares are summed, not averaged.", lambda x, scale, shift, eps: rms(x, scale, shift, eps, "sum"), "sum"),
        Wrong("no_root", "The result is divided by the mean square, not by its root.", lambda x, scale, shift, eps: rms(x, scale, shift, eps, "no root"), "sqrt rsqrt"),
        Wrong("no_eps", "There is no eps.", lambda x, scale, shift, eps: rms(x, scale, shift, eps, "no eps"), "eps"),
        Wrong("scale_left_out", "The scale is not applied.", lambda x, scale, shift, eps: rms(x, scale, shift, eps, "no scale"), "return"),
    ),
    "Zhang & Sennrich 2019",
)  # fmt: skip


def turned(x: Tensor, positions: Tensor, base: float = 10000.0, how: str = "halves") -> Tensor:
    """Return rotary positions in a convention, or with a mistake."""
    d = x.shape[-1]
    exponents = torch.arange(d // 2, dtype=x.dtype) / (d // 2)
    if "doubled" in how:
        exponents = 2 * exponents
    if "halved" in how:
        exponents = exponents / 2
    angles = positions[:, None].to(x.dtype) * base**-exponents
    if "growing" in how:
        angles = positions[:, None].to(x.dtype) * base**exponents
    if "backwards" in how:
        angles = -angles
    if "next" in how:
        angles = (positions[:, None] + 1).to(x.dtype) * base**-exponents
    cos, sin = torch.cos(angles), torch.sin(angles)
    if "angles of neighbours" in how:
        cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
        one, other = x.chunk(2, -1)
        return x * cos + torch.cat((-other, one), -1) * sin
    if "angles of halves" in how:
        cos, sin = cos.repeat(1, 2), sin.repeat(1, 2)
        return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin
    split_halves, joined_halves = "neighbours" not in how, "neighbours" not in how
    if "mixed" in how:
        split_halves, joined_halves = "split" in how, "split" not in how
    one, other = (
        (x[..., : d // 2], x[..., d // 2 :]) if split_halves else (x[..., ::2], x[..., 1::2])
    )
    both = (one * cos - other * sin, other * cos + one * sin)
    if "no minus" in how:
        both = (one * cos + other * sin, other * cos + one * sin)
    return torch.cat(both, -1) if joined_halves else torch.stack(both, -1).flatten(-2)


def rotary_inputs(sizes: Sizes) -> dict[str, Any]:
    x = drawn(sizes.tokens, 2 * sizes.head_dim, seed=sizes.seed)
    return {"x": x, "positions": torch.arange(sizes.tokens) + 3}


def wrong_turns() -> tuple[Wrong, ...]:
    """Return the known mistakes of rotary positions, in both conventions."""
    table = {
        "angles of neighbours": ("angles_of_neighbours", "Two conventions are mixed: the angles are laid out for neighbours (a a b b), the turn is that of halves.", "repeat_interleave stack"),
        "angles of halves": ("angles_of_halves", "Two conventions are mixed: the angles are laid out for halves (a b a b), the turn is that of neighbours.", "cat repeat"),
        "mixed": ("neighbours_split_halves_joined", "Two conventions are mixed: pairs are split as neighbours and joined as halves.", "cat"),
        "mixed split": ("halves_split_neighbours_joined", "Two conventions are mixed: pairs are split as halves and joined as neighbours.", "stack"),
        "backwards": ("turned_backwards", "The turn has the other direction.", "sin"),
        "neighbours backwards": ("turned_backwards", "The turn has the other direction.", "sin"),
        "doubled": ("exponent_doubled", "The exponent is twice what it should be.", "** pow exp"),
        "neighbours doubled": ("exponent_doubled", "The exponent is twice what it should be.", "** pow exp"),
        "halved": ("exponent_halved", "The exponent is half of what it should be.", "** pow exp"),
        "neighbours halved": ("exponent_halved", "The exponent is half of what it should be.", "** pow exp"),
        "growing": ("exponent_sign", "The rates grow; they should fall from pair to pair.", "** pow exp"),
        "next": ("one_position_too_far", "The positions are one too large.", "arange positions"),
        "no minus": ("no_minus", "The turn lacks its minus sign.", "sin"),
        "neighbours no minus": ("no_minus", "The turn lacks its minus sign.", "sin"),
    }  # fmt: skip
    return tuple(
        Wrong(name, said, lambda x, positions, base=10000.0, how=how: turned(x, positions, base, how), where)
        for how, (name, said, where) in table.items()
    )  # fmt: skip


ROTARY = Kind(
    "rotary positions",
    re.compile(r"rotate|\w*(rope|rotary)\w*", re.I),
    rotary_inputs,
    {
        "pairs of halves": turned,
        "pairs of neighbours": lambda x, p, base=10000.0: turned(x, p, base, "neighbours"),
    },
    wrong_turns(),
    "Su et al. 2021, section 3.4.2",
)


def waves(count: int, d: int, how: str = "") -> Tensor:
    """Return sinusoidal positions in a convention, or with a mistake."""
    half = (d + 1) // 2
    steps = torch.arange(half, dtype=torch.float64)
    exponents = steps / (half - 1) if "end" in how and half > 1 else 2 * steps / d
    if "doubled" in how:
        exponents = 2 * exponents
    if "no two" in how:
        exponents = exponents / 2
    if "growing" in how:
        exponents = -exponents
    positions = torch.arange(count, dtype=torch.float64)[:, None] + ("next" in how)
    angles = positions / 10000.0**exponents
    one, other = (angles.cos(), angles.sin()) if "swapped" in how else (angles.sin(), angles.cos())
    if "same" in how:
        other = one
    if "halves" in how:
        return torch.cat((one, other), -1)[:, :d]
    return torch.stack((one, other), -1).flatten(1)[:, :d]


def waves_inputs(sizes: Sizes) -> dict[str, Any]:
    return {"count": sizes.tokens + 2, "width": 2 * sizes.head_dim}


def wrong_waves() -> tuple[Wrong, ...]:
    """Return the known mistakes of sinusoidal positions."""
    table = {
        "swapped": ("sines_and_cosines_swapped", "Sines and cosines are swapped.", "sin cos"),
        "doubled": ("exponent_doubled", "The exponent is twice what it should be.", "** pow exp"),
        "no two": ("exponent_halved", "The exponent is half of what it should be.", "** pow exp"),
        "growing": (
            "exponent_sign",
            "The waves get shorter; they should get longer.",
            "** pow exp",
        ),
        "next": ("one_position_too_far", "The positions begin at 1.", "arange"),
        "same": ("sines_only", "There are sines only.", "sin cos"),
    }
    return tuple(
        Wrong(name, said, lambda count, width, how=how: waves(count, width, how), where)
        for how, (name, said, where) in table.items()
    )


SINUSOIDAL = Kind(
    "sinusoidal positions",
    re.compile(r"\w*(sinusoid|sin_?cos|positional_?enc)\w*", re.I),
    waves_inputs,
    {
        "sines and cosines alternate": waves,
        "sines, then cosines": lambda n, d: waves(n, d, "halves"),
        "sines, then cosines, up to the last rate": lambda n, d: waves(n, d, "halves end"),
        "alternating, up to the last rate": lambda n, d: waves(n, d, "end"),
    },
    wrong_waves(),
    "Vaswani et al. 2017, section 3.5",
)


def loss_inputs(sizes: Sizes) -> dict[str, Any]:
    chance = torch.Generator().manual_seed(sizes.seed)
    shape = (sizes.batch + 2, sizes.tokens)
    classes = sizes.width + 1
    targets = torch.randint(classes, shape, generator=chance)
    return {"logits": drawn(*shape, classes, seed=sizes.seed), "targets": targets}


def loss(logits: Tensor, targets: Tensor, how: str = "") -> Tensor:
    """Return the cross-entropy, or one with a mistake."""
    if how == "softmax twice":
        logits = torch.softmax(logits, -1)
    each = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none")
    return {
        "sum": each.sum(),
        "positive": -each.mean(),
        "base two": each.mean() / 0.6931471805599453,
        "base ten": each.mean() / 2.302585092994046,
        "each": each.view(targets.shape),
        "by class": each.mean() / logits.shape[-1],
        "probability": torch.exp(-each).mean(),
        "bare": -logits.gather(-1, targets[..., None]).mean(),
    }.get(how, each.mean())


def wrong_losses() -> tuple[Wrong, ...]:
    """Return the known mistakes of a cross-entropy."""
    table = {
        "sum": ("summed", "The losses are summed, not averaged.", "sum"),
        "positive": ("no_minus", "The sign is turned around.", "return"),
        "base two": ("base_two", "The logarithm has base 2.", "log2"),
        "base ten": ("base_ten", "The logarithm has base 10.", "log10"),
        "each": ("not_averaged", "The losses are not averaged.", "return"),
        "by class": ("averaged_over_classes", "The mean runs over the classes too.", "mean"),
        "probability": ("no_logarithm", "There is no logarithm.", "softmax"),
        "softmax twice": ("softmax_twice", "The softmax is applied twice.", "softmax"),
        "bare": (
            "no_softmax",
            "There is no softmax: the logits themselves are averaged.",
            "gather",
        ),
    }
    return tuple(
        Wrong(name, said, lambda logits, targets, how=how: loss(logits, targets, how), where)
        for how, (name, said, where) in table.items()
    )


CROSS_ENTROPY = Kind(
    "cross-entropy",
    re.compile(r"\w*cross_?entropy\w*|nll(_?loss)?", re.I),
    loss_inputs,
    {"mean over all tokens": loss},
    wrong_losses(),
    "torch.nn.functional.cross_entropy",
)
KINDS = (SOFTMAX, RMS_NORM, LAYER_NORM, ROTARY, SINUSOIDAL, CROSS_ENTROPY)


@dataclass(eq=False)
class Part:
    """A definition of one of these kinds, ready to run."""

    name: str
    target: Any
    text: str
    line: int
    kind: Kind
    given: str = ""
    causal: bool = False
    made: Any = None

    @property
    def is_module(self) -> bool:
        """Return True if the definition is a class."""
        return inspect.isclass(self.target)

    def fitted(self, sizes: Sizes) -> Sizes:
        """Return the sizes unchanged."""
        return sizes

    batch_of = fitted

    def inputs(self, sizes: Sizes) -> dict[str, Any]:
        """Return drawn arguments by role."""
        drawn_ones = self.kind.inputs(sizes)
        if "dim" in drawn_ones and not self.is_module and not self.knows("dim"):
            drawn_ones["dim"] = -1
        return drawn_ones

    def knows(self, role: str) -> bool:
        """Return True if the function has a parameter with this role."""
        return any(role_of(one.name, CALL) == role for one in parameters_of(self.target))

    def build(self, sizes: Sizes) -> Any:
        """Return the function, or a module in double precision with drawn weights."""
        if not self.is_module:
            return self.target
        given = {}
        for one in parameters_of(self.target):
            role = role_of(one.name, CONSTRUCTOR)
            if one.default is inspect.Parameter.empty or role == "context":
                wide = 2 * sizes.head_dim if self.kind is SINUSOIDAL else sizes.width
                given[one.name] = {"context": 40, "dropout": 0.0, "eps": 1e-5}.get(role, wide)
            elif role == "dropout":
                given[one.name] = 0.0
        made = self.target(**given)
        return made.double() if isinstance(made, nn.Module) else made

    def run(self, made: Any, inputs: dict[str, Any]) -> Tensor:
        """Call the definition with arguments by role, and return its result."""
        called = self.target.forward if self.is_module else self.target
        parameters = parameters_of(called)[1 if self.is_module else 0 :]
        order = list(inputs)
        if self.kind is SINUSOIDAL and self.is_module:
            x = torch.zeros(2, inputs["count"], inputs["width"], dtype=torch.float64)
            out = made(x)
            return out[0] if out.dim() == 3 else out
        arguments: dict[str, Any] = {}
        for place, one in enumerate(parameters):
            if one.default is inspect.Parameter.empty and place < len(order):
                arguments[one.name] = inputs[order[place]]
            elif role_of(one.name, CALL) == "dim" and "dim" in inputs:
                arguments[one.name] = inputs["dim"]
            elif one.default is inspect.Parameter.empty:
                raise CannotRun(f"nothing is known about the parameter `{one.name}`")
        result = made(**arguments)
        if not isinstance(result, Tensor):
            raise CannotRun(f"a {type(result).__name__} comes back, not a tensor")
        return result

    def scales(self, made: Any, sizes: Sizes) -> tuple[Tensor, Tensor]:
        """Draw a norm's scale and shift; return them, ones and zeros if it has none."""
        found = [torch.ones(sizes.width, dtype=torch.float64)]
        found.append(torch.zeros(sizes.width, dtype=torch.float64))
        if isinstance(made, nn.Module):
            with torch.no_grad():
                for value in made.parameters():
                    if value.numel() != sizes.width:
                        continue
                    first = 0 if bool((value == 1).all()) else 1
                    value.add_(drawn(sizes.width, seed=sizes.seed + 9 + first).view(value.shape))
                    found[first] = value.detach().flatten().clone()
        return found[0], found[1]

    def arguments(self, made: Any, inputs: dict[str, Any], sizes: Sizes) -> list[tuple]:
        """Return the arguments for a formula: several if a constant is not known."""
        if self.kind not in (LAYER_NORM, RMS_NORM):
            return [tuple(inputs.values())]
        scale, shift = self.scales(made, sizes)
        own = getattr(made, "eps", getattr(made, "variance_epsilon", None))
        known = [float(own)] if isinstance(own, (int, float)) else [1e-5, 1e-6, 1e-8, 1e-12, 1e-3]
        return [(inputs["x"], scale, shift, eps) for eps in known]


def kind_named(name: str) -> Kind | None:
    """Return the kind that a definition has by its name, if any."""
    return next((kind for kind in KINDS if kind.names.fullmatch(name)), None)


def has_weights(part: Part, sizes: Sizes) -> bool:
    """Return True if a module has parameters, or cannot be built."""
    try:
        return any(True for _ in part.build(sizes).parameters())
    except Exception:
        return True


def part_of(target: Any, name: str, text: str, line: int, kind: Kind) -> Part:
    """Return a definition that runs. Raises CannotRun."""
    part = Part(name, target, text, line, kind)
    sizes = Sizes(head_dim=6, heads=2)
    if kind in (ROTARY, SINUSOIDAL) and part.is_module and has_weights(part, sizes):
        raise CannotRun("positions with weights of their own have no known formula")
    try:
        part.run(part.build(sizes), part.inputs(sizes))
    except CannotRun:
        raise
    except Exception as error:
        raise CannotRun(raised(error, target), line_raising(error, target)) from error
    return part


def results(part: Part, sizes: Sizes, formulas: dict[str, Formula] | None = None) -> tuple:
    """Return the part's result, the convention that it agrees with, and the closest result."""
    made, inputs = part.build(sizes), part.inputs(sizes)
    wanted = part.arguments(made, inputs, sizes)
    copies = {n: v.clone() if isinstance(v, Tensor) else v for n, v in inputs.items()}
    with torch.no_grad():
        actual = part.run(made, copies).double()
    closest = None
    for name, formula in (formulas or part.kind.right).items():
        for given in wanted:
            found = formula(*given)
            if close(actual, found):
                return actual, name, found
            closest = found if closest is None else closest
    return actual, None, closest


def close(actual: Tensor, found: Tensor) -> bool:
    """Return True if two results are equal but for rounding."""
    if actual.dim() == found.dim() + 1 and actual.shape[0] == 1:
        actual = actual[0]
    if actual.shape != found.shape:
        return False
    return bool(((actual - found).abs() <= CLOSE * max(scale_of(found), 1e-2)).all())


def at_other_sizes(sizes: Sizes) -> list[Sizes]:
    """Return further sizes at which a mistake has to match too."""
    return [replace(sizes, seed=sizes.seed + 31), replace(sizes, tokens=sizes.tokens + 2, heads=3)]
