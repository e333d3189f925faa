"""Attention as the papers define it, with an edit of its formula for each known mistake.

Which layers of a module make queries, keys and values is inferred from their names.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import linear

from .code import Made
from .parts import Edit
from .roles import Sizes
from .subject import Inputs, Subject, keys_of

SCALE = "sqrt rsqrt scale scaling ** / scaled_dot_product_attention softmax"
MASK = "masked_fill masked_fill_ where triu tril mask softmax scaled_dot_product_attention"
TRIANGLE = "triu tril diagonal < > masked_fill where mask"
SPLIT = "view reshape rearrange unflatten chunk"
FILL = "and e to that power is a weight like any other. Fill with -inf."
HIDDEN, WEIGHTS, SPLIT_UP = (
    "triu(1 + m - n)",
    "scores.softmax(-1)",
    "t.unflatten(-1, (-1, d)).transpose(1, 2)",
)
MASKED, MERGED = (
    "scores.masked_fill(hidden, -torch.inf)",
    "(weights @ v).transpose(1, 2).reshape(b, tokens, -1)",
)
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
# How one fused layer holds queries, keys and values: the shape of its width, and their axis.
ORDERS = {
    "blocks": ((3, -1), -2),
    "by head": (("heads", 3, -1), -2),
    "by feature": (("heads", -1, 3), -1),
    "heads last": ((3, -1, "heads"), -3),
    "fewer heads of keys": ((), 0),
}
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


def why_not_plain(subject: Subject) -> str:
    """Return why a definition does not claim to follow the formula of attention; "" if it does."""
    if subject.tensors == "q, k":
        return "it returns weights only"
    own = subject.definition.name
    if not OTHER_ATTENTION.search(own):
        words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one) for one in subject.definition.names)
        own = next((one for one in words if OTHER_FORMULAS.search(one.lower())), "")
    if own:
        return f"its code has a formula of its own (`{own}`)"
    if subject.made.weights or subject.tensors != "q, k, v":
        layers = layers_by_role(subject.made)
        complete = any(need <= layers.keys() for need in ({"qkv"}, {*"qkv"}, {"q", "kv"}))
        if "" in layers or not complete:
            what = f"`{layers[''][0][0]}`" if "" in layers else "queries, keys or values"
            return f"no role was found for {what} among its weights"
    return ""


Layer = tuple[str, Tensor, Tensor | None]  # the name of a weight for `x @ w.T`, it, and a bias
Linear = Callable[[Tensor], Tensor]


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
    sources = tuple(inputs[name] for name in (*names[:2], names[-1]))
    for flipped in (False, True):
        layers = {role: stacked(one) for role, one in layers_by_role(made, flipped).items() if role}
        out = layers.get("out", torch.clone)
        for order in ORDERS if "qkv" in layers else ["blocks"]:
            with suppress(RuntimeError, IndexError):  # the widths do not fit
                yield *projected(layers, sources, order, sizes), out


def projected(
    layers: dict[str, Linear], sources: tuple[Tensor, ...], order: str, sizes: Sizes
) -> tuple[Tensor, ...]:
    """Return queries, keys and values (batch, tokens, width): the sources, or layers' results."""
    x, keys, values = sources
    if "latent" in layers:
        keys = values = layers["latent"](keys)
    if "qkv" in layers:
        every = map(layers["qkv"], (x, keys, values))
        return tuple(fused_part(one, place, order, sizes) for place, one in enumerate(every))
    if "kv" in layers:
        return layers["q"](x), *layers["kv"](keys).chunk(2, -1)
    return (layers["q"](x), layers["k"](keys), layers["v"](values)) if layers else sources


def fused_part(made: Tensor, place: int, order: str, sizes: Sizes) -> Tensor:
    """Return the queries, the keys or the values (place 0, 1 or 2) of a fused layer's result."""
    shape, axis = ORDERS[order]
    if not shape:
        heads = (sizes.heads, sizes.kv_heads, sizes.kv_heads)
        return made.unflatten(-1, (sum(heads), -1)).split(heads, -2)[place].flatten(2)
    cut = made.unflatten(-1, [sizes.heads if one == "heads" else one for one in shape])
    part = cut.select(axis, place)
    return (part.mT if order == "heads last" else part).flatten(2)


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
        is_linear = value.dim() == 2 and kind != "Embedding"
        is_bare = last != "weight" or not owner
        # Conv1D stores its weight the other way round.
        turned = is_linear and (not flipped if is_bare else kind == "Conv1D")
        layer = name, value.mT if turned else value, made.weights.get(biases[name])
        if name not in biases.values():
            found.setdefault(role_of_weight(name) if is_linear else "", []).append(layer)
    if "qkv" in found and found.keys() & {"q", "k", "v"}:
        found.setdefault("", []).extend(found.pop("qkv"))
    return found


def stacked(layers: list[Layer]) -> Linear:
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
