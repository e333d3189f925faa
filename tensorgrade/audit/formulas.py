"""The formulas of attention and of its parts, with an edit of the text for each known mistake.

Wrong results are compared with those of all known mistakes. Which layers of a module make queries,
keys and values is inferred from their names.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations, product
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from .code import CannotRun, Made, Mistake
from .conventions import Inputs, Sizes, keys_of

Formula = Callable[..., Iterable[Tensor]]  # yields its result in each convention
# What an edit replaces and by what, and the mistake that it makes: its name, where to look and a
# sentence.
Edit = tuple[str, str, str, str, str]
USUAL_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3, torch.finfo(torch.float32).eps)


@cache
def mistaken(formula: Formula, edits: tuple[Edit, ...]) -> list[tuple[Mistake, Formula]]:
    """Return a formula with each known mistake."""
    source, found = inspect.getsource(formula), list[tuple[Mistake, Formula]]()
    for old, new, name, where, says in edits:
        assert old in source, f"{formula.__name__} has no {old}"
        names = dict(formula.__globals__)
        exec(source.replace(old, new), names)
        found.append((Mistake(says, name, where), names[formula.__name__]))
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
    """Yield a scale, a shift and an eps of a norm.

    Either of two weights can be the scale, or its difference from 1.
    """
    own = [one.flatten() for one in weights if one.numel() == width] or [torch.ones(width)]
    for (scale, shift), eps in product(permutations([*own, torch.zeros(width)][:2]), USUAL_EPS):
        yield from ((scale, shift, eps), (1 + scale, shift, eps))


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
        for root in ((square + eps).sqrt(), square.sqrt() + eps):
            yield x / root * scale + shift


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
        yield from (made, made[None], x + made[: x.shape[1]], x + made[: x.shape[0], None])


NO_SCALE: Edit = (" * scale", "", "scale_left_out", "return", "The scale is not applied.")
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
        NO_SCALE,
        ("mean(", "sum(", "sum_of_squares", "sum", "The squares are summed, not averaged."),
        ("    square", "    x = x - x.mean(-1, keepdim=True)\n    square", "mean_subtracted", "mean", "The mean is subtracted; an RMS norm leaves it."),
    )),
    Kind("layer norm", r"(my_?|own_?|layer_?|custom_?)*layer_?norm(alization)?", ("x",), layer_norm, (
        NO_SCALE,
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


SCALE = "sqrt rsqrt scale scaling ** / scaled_dot_product_attention softmax"
MASK = "masked_fill masked_fill_ where triu tril mask softmax scaled_dot_product_attention"
TRIANGLE = "triu tril diagonal < > masked_fill where mask"
SPLIT = "view reshape rearrange unflatten chunk"
FILL = "and e to that power is a weight like any other. Fill with -inf."
HIDDEN, WEIGHTS = "triu(1 + m - n)", "scores.softmax(-1)"
SPLIT_UP = "t.unflatten(-1, (-1, d)).transpose(1, 2)"
MASKED = "scores.masked_fill(hidden, -torch.inf)"
MERGED = "(weights @ v).transpose(1, 2).reshape(b, tokens, -1)"
# Edits of `attention`, below.
EDITS: tuple[Edit, ...] = (
    (" / d**0.5", "", "no_scale", SCALE, "The scores are not divided by sqrt(head_dim)."),
    ("/ d**0.5", "/ width**0.5", "scaled_by_sqrt_width", SCALE, "The scores are divided by the square root of the whole width. Each head's dot products run over head_dim numbers only."),
    ("/ d**0.5", "/ inputs[keys_of(inputs)[0]].shape[-1] ** 0.5", "scaled_by_sqrt_d_in", SCALE, "The scale comes from the width of the input."),
    ("/ d**0.5", "/ sizes.heads**0.5", "scaled_by_sqrt_heads", SCALE, "The scale comes from the number of heads."),
    ("/ d**0.5", "/ d", "scaled_by_head_dim", SCALE, "The scores are divided by head_dim, without the root, or by the root twice."),
    ("/ d**0.5", "* d**0.5", "multiplied_by_sqrt_head_dim", SCALE, "The scores are multiplied by sqrt(head_dim), not divided."),
    ("/ d**0.5", "/ q.shape[-2] ** 0.5", "scaled_by_sqrt_tokens", SCALE, "The scale comes from the number of tokens."),
    (WEIGHTS, "scores.softmax(-2)", "softmax_over_queries", "softmax sum", "The softmax runs over the queries. Each query's weights should sum to 1 over its keys."),
    (WEIGHTS, "scores.softmax(1)", "softmax_over_heads", "softmax sum", "The softmax runs over the heads."),
    (WEIGHTS, "scores.flatten().softmax(-1).view_as(scores)", "softmax_over_everything", "softmax sum", "All weights of all heads and sequences share one sum. Each query's own should sum to 1."),
    (WEIGHTS, "(scores * d**0.5).softmax(-1) / d**0.5", "scaled_after_softmax", "sqrt scale ** softmax", "The weights are scaled after the softmax. Scale the scores before it."),
    (MASKED, "scores", "no_mask", MASK, "Nothing is masked: each token sees the tokens after it."),
    (HIDDEN, "tril(m - n - 1)", "mask_hides_the_past", TRIANGLE, "The mask hides the past and shows the future."),
    (HIDDEN, "triu(m - n)", "mask_one_too_early", TRIANGLE, "The mask hides each token from itself too."),
    (HIDDEN, "triu(2 + m - n)", "mask_one_too_late", TRIANGLE, "The mask shows one token of the future."),
    (HIDDEN, "tril(m - n)", "mask_inverted", "triu tril ~ == masked_fill where mask", "The mask is inverted: what should be hidden is shown, and what should be shown is hidden."),
    (MASKED, "scores.masked_fill(hidden, 0.0)", "masked_with_zero", f"* {MASK}", f"Hidden scores become 0 before the softmax, {FILL}"),
    (MASKED, "scores + hidden.float() * -torch.inf", "mask_times_minus_inf", "inf masked_fill", "The mask is multiplied with -inf, and 0 * -inf is NaN. Use masked_fill."),
    (f"{MASKED}\n            weights = {WEIGHTS}", f"scores\n            weights = {WEIGHTS}.masked_fill(hidden, 0.0)", "masked_after_softmax", MASK, "Weights are zeroed after the softmax, so the rows no longer sum to 1."),
    (WEIGHTS, "scores", "no_softmax", "weights= attn= sqrt ** / @ matmul", "There is no softmax: the scores themselves mix the values."),
    (WEIGHTS, "scores / scores.sum(-1, keepdim=True)", "divided_by_sum", "sum softmax", "The scores are divided by their sum, without an exponential."),
    (WEIGHTS, f"{WEIGHTS}.softmax(-1)", "softmax_twice", "softmax", "The softmax is applied twice."),
    (WEIGHTS, "scores.exp()", "exponential_not_normalized", "exp", "The exponentials are not divided by their sum."),
    ("q @ k.mT", "q @ q.mT", "scores_mix_nothing", "@ matmul", "The keys do not take part."),
    ("q @ k.mT", "k @ k.mT", "keys_for_queries", "@ matmul", "The keys take the place of the queries."),
    ("q @ k.mT", "k @ q.mT", "queries_and_keys_swapped", "@ matmul", "Queries and keys are swapped."),
    ("weights @ v", "weights @ k", "keys_as_values", "weights@ attn@ @ matmul einsum", "The keys are mixed instead of the values."),
    ("q @ k.mT", "q @ v.mT", "values_as_keys", "@ matmul", "The values are compared with the queries, not the keys."),
    ("k, v = (t.repeat", "v, k = (t.repeat", "keys_and_values_swapped", "keys= k= @ matmul", "Keys and values are swapped."),
    (SPLIT_UP, "t.reshape(b, -1, t.shape[1], d)", "heads_by_reshape_alone", SPLIT, "Heads are split by a reshape alone, so that a head's row holds pieces of several tokens. Split the width first, then transpose."),
    (".transpose(1, 2)", "", "attention_over_heads", f"{SPLIT} transpose permute", "Attention runs over the heads of each token, not over the tokens: the axes are not transposed."),
    (SPLIT_UP, "t.unflatten(-1, (d, -1)).permute(0, 3, 1, 2)", "heads_interleaved", SPLIT, "Each head takes every so-many-th feature, not a block of neighbours. Trained from the start this works, but weights from other implementations do not fit."),
    ("width // sizes.heads", "width", "one_head", f"{SPLIT} transpose permute", "The heads are never split: one head takes the whole width."),
    (MERGED, "(weights @ v).reshape(b, tokens, -1)", "heads_not_transposed_back", "reshape view flatten", "Heads are merged without transposing them back, so features of different tokens are mixed."),
    (MERGED, "(weights @ v).sum(1)", "heads_added", "sum + for", "The heads' results are added. Join them side by side."),
    ("repeat_interleave(q.shape[1] // t.shape[1], 1)", "repeat(1, q.shape[1] // t.shape[1], 1, 1)", "groups_tiled", "repeat expand cat repeat_interleave tile", "Key and value heads are repeated as a block (0 1 0 1). Neighbouring query heads share one (0 0 1 1)."),
    ("out(mixed)", "mixed", "no_output_projection", "return", "The output projection is never applied."),
)  # fmt: skip


# The words in the names of layers: what they make, if not the output.
MAKES = {
    **dict.fromkeys(("q", "wq", "query", "queries"), "q"),
    **dict.fromkeys(("k", "wk", "key", "keys"), "k"),
    **dict.fromkeys(("v", "wv", "value", "values"), "v"),
    **dict.fromkeys(("kv", "wkv"), "kv"),
    **dict.fromkeys(("qkv", "kqv", "wqkv", "attn", "in", "pack"), "qkv"),
}
LATENT = {"down", "latent"}  # what keys and values are made from
OUT = set("o wo out output dense unify combine unifyheads heads head mix".split())
SAY_NOTHING = set("w to c lin linear proj projection fc final resid layer net map up".split())
# How the result of one fused layer holds queries, keys and values, each as (…, heads, width), for
# these numbers of heads of queries and of keys.
ORDERS: tuple[Callable[[Tensor, int, int], Sequence[Tensor]], ...] = (
    lambda y, h, g: y.unflatten(-1, (3, h, -1)).unbind(-3),
    lambda y, h, g: y.unflatten(-1, (h, 3, -1)).unbind(-2),
    lambda y, h, g: y.unflatten(-1, (h, -1, 3)).unbind(-1),
    lambda y, h, g: y.unflatten(-1, (3, -1, h)).mT.unbind(-3),
    lambda y, h, g: y.unflatten(-1, (h + 2 * g, -1)).split((h, g, g), -2),
)
# Names in code of attention that does not follow the formula, on purpose.
OTHER_FORMULAS = re.compile(
    r"(^|_)(norm|normalize|rms_norm|layer_norm|cosine\w*|relu|elu|phi|kernel\w*|linformer|temperature|tau|gates?|gating"
    r"|sinks?|null|memory_key|talking|topk|entmax|sparsemax|soft_?cap|tanh|bias_k|zero_attn|mix_heads|lambda\w*"
    r"|rope|rotary|rotate|alibi|slopes?|windows?|local|relative|rel|freqs?|inv_freq|pe|pos|positions?"
    r"|positional\w*|position\w*|band|bucket\w*|cos|sin|distance\w*)(_|$)"
)
# The same in the name of the definition.
OTHER_ATTENTION = re.compile(
    r"linear|linformer|performer|nystrom|kernel|sparse|local|axial|focal|fast|efficient|agent|cosine"
    r"|relative|differential|gated|retention|hyper|lambda",
    re.I,
)


Layer = tuple[str, Tensor, Tensor | None]  # the name of a weight for `x @ w.T`, it, and a bias


def attention(made: Made, inputs: Inputs, sizes: Sizes, causal: bool) -> Iterator[Tensor]:
    """Yield the result of attention, for each convention of storing the weights of a module."""
    for q, k, v, out in projections(made, inputs, sizes):
        with suppress(RuntimeError, IndexError):  # the widths do not fit
            b, tokens, width = q.shape
            d = width // sizes.heads
            q, k, v = (t.unflatten(-1, (-1, d)).transpose(1, 2) for t in (q, k, v))
            k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
            scores = q @ k.mT / d**0.5
            n, m = scores.shape[-2:]
            hidden = torch.ones(n, m).triu(1 + m - n).bool() & causal
            scores = scores.masked_fill(hidden, -torch.inf)
            weights = scores.softmax(-1)
            mixed = (weights @ v).transpose(1, 2).reshape(b, tokens, -1)
            yield out(mixed)


def projections(made: Made, inputs: Inputs, sizes: Sizes) -> Iterator[tuple]:
    """Yield queries, keys and values (batch, tokens, width), and the output's layer.

    Bare matrices may be meant for `x @ w` or for `x @ w.T`.
    """
    names = ["x" if "x" in inputs else "q", *keys_of(inputs)]
    x, keys, values = sources = [inputs[name] for name in (*names[:2], names[-1])]
    for flipped in (False, True):
        layers = {role: stacked(one) for role, one in layers_by_role(made, flipped).items() if role}
        out = layers.get("out", torch.clone)
        with suppress(RuntimeError, IndexError):  # the widths do not fit
            if "latent" in layers:
                keys = values = layers["latent"](sources[1])
            if "qkv" in layers:
                every = [layers["qkv"](one) for one in sources]
                for order in ORDERS:
                    with suppress(RuntimeError):
                        cut = [order(one, sizes.heads, sizes.kv_heads) for one in every]
                        yield *(cut[place][place].flatten(2) for place in range(3)), out
            elif "kv" in layers:
                yield layers["q"](x), *layers["kv"](keys).chunk(2, -1), out
            elif layers:
                yield layers["q"](x), layers["k"](keys), layers["v"](values), out
            else:
                yield *sources, out


def layers_by_role(made: Made, flipped: bool = False) -> dict[str, list[Layer]]:
    """Return the linear layers of a module, its bare matrices and other parameters, by role.

    Several layers of one role are those of a list of heads. flipped: bare matrices are for
    `x @ w.T`, not for `x @ w`.
    """
    found: dict[str, list[Layer]] = {}
    biases = {name: f"{name.removesuffix('weight')}bias" for name in made.weights}
    for name, value in made.weights.items():
        owner, _, last = name.rpartition(".")
        kind = made.modules.get(owner, "")
        is_linear = value.dim() == 2 and min(value.shape) > 1 and kind != "Embedding"
        is_bare = last != "weight" or not owner
        # Conv1D stores its weight the other way round.
        turned = is_linear and (not flipped if is_bare else kind == "Conv1D")
        layer = name, value.mT if turned else value, made.weights.get(biases[name])
        if name not in biases.values():
            found.setdefault(role_of_weight(name) if is_linear else "", []).append(layer)
    if "qkv" in found and found.keys() & {"q", "k", "v"}:
        found.setdefault("", []).extend(found.pop("qkv"))
    return found


def stacked(layers: list[Layer]) -> Callable[[Tensor], Tensor]:
    """Return the layers of one role as one."""
    biases = [bias for _, _, bias in layers if bias is not None]
    weight = torch.cat([weight for _, weight, _ in layers])
    return partial(linear, weight=weight, bias=torch.cat(biases) if biases else None)


def role_of_weight(name: str) -> str:
    """Return the role that a layer has by the name of its weight; an empty text for none."""
    parts = [part for part in name.lower().split(".") if not part.isdigit()]
    last = next((one for one in reversed(parts) if one not in ("weight", "proj_fn")), "")
    words = {*re.findall(r"[a-z]+|\d+", last)} - {"weight", "weights"}
    if words & LATENT:
        return "latent"
    if not words or words - MAKES.keys() - OUT - SAY_NOTHING:
        return ""
    made = "".join(MAKES.get(word, "") for word in words - OUT)
    return "out" if words & OUT or not made else "".join(one for one in "qkv" if one in made)
