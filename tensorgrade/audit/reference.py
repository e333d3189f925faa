"""Attention as the papers define it, with every known mistake as an option.

Tensors are (batch, tokens, width), with all heads together. A mistake is one changed option, so a
wrong result can be compared with all of them.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch


@dataclass(frozen=True)
class Recipe:
    """The options of an attention formula. The defaults are right, except that nothing is masked.

    odd: q, k or v, if one of them is split by a reshape alone.
    """

    mask: str = "none"
    scale: str = "sqrt head_dim"
    softmax: str = "keys"
    split: str = "blocks"
    merge: str = "heads back"
    operands: str = "q k v"
    groups: str = "neighbours"
    weights: str = "softmax"
    applied: str = "weights"
    output: str = "projected"
    odd: str = ""


@dataclass(frozen=True)
class Cause:
    """A known mistake: a name, a sentence, and where to look.

    where: operations on the line that it may be on, the most telling first.
    """

    name: str
    sentence: str
    where: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mistake(Cause):
    """A known mistake of the formula: the options of the recipe that it changes."""

    change: tuple[tuple[str, str], ...] = ()

    def of(self, recipe: Recipe) -> Recipe:
        """Return a recipe with this mistake."""
        changed: dict[str, Any] = dict(self.change)
        return replace(recipe, **changed)


def known(name: str, sentence: str, where: str, **change: str) -> Mistake:
    """Return a mistake in a form that reads as a table."""
    return Mistake(name, sentence, tuple(where.split()), tuple(change.items()))


SCALE = "sqrt rsqrt scale scaling ** / scaled_dot_product_attention softmax"
MASK = "masked_fill masked_fill_ where triu tril mask softmax scaled_dot_product_attention"
SPLIT = "view reshape rearrange unflatten chunk"
HEADS = f"{SPLIT} transpose permute"
MISTAKES = (
    known("no_scale", "The scores are not divided by sqrt(head_dim).", SCALE, scale="none"),
    known(
        "scaled_by_sqrt_width",
        "The scores are divided by the square root of the whole width. Each head's dot products "
        "run over head_dim numbers only.",
        SCALE,
        scale="sqrt width",
    ),
    known("scaled_by_sqrt_d_in", "The scale comes from the width of the input.", SCALE, scale="sqrt d_in"),
    known("scaled_by_sqrt_heads", "The scale comes from the number of heads.", SCALE, scale="sqrt heads"),
    known("scaled_by_head_dim", "The scores are divided by head_dim, without the root.", SCALE, scale="head_dim"),
    known("scaled_by_width", "The scores are divided by the whole width, without a root.", SCALE, scale="width"),
    known("multiplied_by_sqrt_head_dim", "The scores are multiplied by sqrt(head_dim), not divided.", SCALE, scale="times"),
    known("scaled_by_sqrt_tokens", "The scale comes from the number of tokens.", SCALE, scale="sqrt tokens"),
    known("scaled_by_tokens", "The scores are divided by the number of tokens.", SCALE, scale="tokens"),
    known("scaled_twice", "The scores are divided by sqrt(head_dim) twice.", SCALE, scale="head_dim"),
    known("scaled_by_two", "The scores are divided by 2.", SCALE, scale="two"),
    known(
        "softmax_over_queries",
        "The softmax runs over the queries. Each query's weights should sum to 1 over its keys.",
        "softmax sum",
        softmax="queries",
    ),
    known("softmax_over_heads", "The softmax runs over the heads.", "softmax sum", softmax="heads"),
    known("softmax_over_batch", "The softmax runs over the batch.", "softmax sum", softmax="batch"),
    known("softmax_over_everything", "All weights of a head share one sum. Each query's own should sum to 1.", "softmax sum", softmax="queries and keys"),
    known("softmax_over_everything", "All weights of all heads and sequences share one sum. Each query's own should sum to 1.", "softmax sum", softmax="everything"),
    known("scaled_after_softmax", "The weights are scaled after the softmax. Scale the scores before it.", "sqrt scale ** softmax", weights="scaled", scale="none"),
    known("no_mask", "Nothing is masked: each token sees the tokens after it.", MASK, mask="none"),
    known("mask_hides_the_past", "The mask hides the past and shows the future.", "triu tril diagonal < > masked_fill where mask", mask="past"),
    known("mask_one_too_early", "The mask hides each token from itself too.", "triu tril diagonal < > masked_fill where mask", mask="itself too"),
    known("mask_one_too_late", "The mask shows one token of the future.", "triu tril diagonal < > masked_fill where mask", mask="one too late"),
    known(
        "mask_inverted",
        "The mask is inverted: what should be hidden is shown, and what should be shown is hidden.",
        "triu tril ~ == masked_fill where mask",
        mask="inverted",
    ),
    known(
        "masked_with_zero",
        "Hidden scores become 0 before the softmax, and e^0 = 1 is a weight like any other. "
        "Fill with -inf.",
        f"* {MASK}",
        mask="zero",
    ),
    known("masked_with_minus_one", "Hidden scores become -1 before the softmax, and e^-1 is a weight like any other. Fill with -inf.", MASK, mask="minus one"),
    known("masked_with_minus_one", "Hidden scores become -1 before they are scaled, and e to that power is a weight like any other. Fill with -inf.", MASK, mask="minus one, scaled"),
    known("masked_with_one", "Hidden scores become 1 before the softmax, and e^1 is a weight like any other. Fill with -inf.", MASK, mask="one"),
    known("mask_times_minus_inf", "The mask is multiplied with -inf, and 0 * -inf is NaN. Use masked_fill.", "inf masked_fill", mask="times -inf"),
    known("minus_inf_after_softmax", "Weights, not scores, are set to -inf. Mask before the softmax.", "masked_fill inf", mask="-inf after"),
    known(
        "masked_after_softmax",
        "Weights are zeroed after the softmax, so the rows no longer sum to 1.",
        MASK,
        mask="after",
    ),
    known("no_softmax", "There is no softmax: the scores themselves mix the values.", "weights= attn= sqrt ** / @ matmul", weights="scores"),
    known("divided_by_sum", "The scores are divided by their sum, without an exponential.", "sum softmax", weights="shares"),
    known("log_softmax", "Logarithms of the weights mix the values.", "log_softmax", weights="log"),
    known("sigmoid", "A sigmoid takes the place of the softmax.", "sigmoid", weights="sigmoid"),
    known("negative_scores", "The sign of the scores is turned around.", "@ matmul softmax", weights="negative"),
    known("weights_transposed", "The weights are transposed before they mix the values.", "mT T transpose @", applied="transposed"),
    known("softmax_twice", "The softmax is applied twice.", "softmax", weights="twice"),
    known("exponential_not_normalized", "The exponentials are not divided by their sum.", "exp", weights="exp"),
    known("uniform_weights", "All visible keys count the same: the scores have no effect.", "softmax", weights="uniform"),
    known("scores_mix_nothing", "The keys do not take part.", "@ matmul", operands="q q v"),
    known("keys_for_queries", "The keys take the place of the queries.", "@ matmul", operands="k k v"),
    known("queries_and_keys_swapped", "Queries and keys are swapped.", "@ matmul", operands="k q v"),
    known("keys_as_values", "The keys are mixed instead of the values.", "weights@ attn@ @ matmul einsum", operands="q k k"),
    known("queries_as_values", "The queries are mixed instead of the values.", "weights@ attn@ @ matmul einsum", operands="q k q"),
    known("values_as_keys", "The values are compared with the queries, not the keys.", "@ matmul", operands="q v v"),
    known("first_sequences_values", "All sequences get the values of the first one.", "[:1] [0] [0,", operands="q k v0"),
    known("first_sequences_keys", "All sequences get the keys of the first one.", "[:1] [0] [0,", operands="q k0 v"),
    known("queries_split_differently", "The queries are split into heads by a reshape alone, unlike keys and values.", "queries.reshape queries.view q.reshape q.view queries= q= reshape view", odd="q"),
    known("keys_split_differently", "The keys are split into heads by a reshape alone, unlike queries and values.", "keys.reshape keys.view k.reshape k.view keys= k= reshape view", odd="k"),
    known("values_split_differently", "The values are split into heads by a reshape alone, unlike queries and keys.", "values.reshape values.view v.reshape v.view values= v= reshape view", odd="v"),
    known("keys_and_values_swapped", "Keys and values are swapped.", "keys= k= @ matmul", operands="q v k"),
    known("values_as_queries", "The values take the place of the queries.", "@ matmul", operands="v k v"),
    known("queries_and_values_swapped", "Queries and values are swapped.", "@ matmul", operands="v k q"),
    known("inputs_as_values", "The inputs are mixed instead of the projected values.", "values= values v=", operands="q k x"),
    known(
        "heads_by_reshape_alone",
        "Heads are split by a reshape alone, so that a head's row holds pieces of several tokens. "
        "Split the width first, then transpose.",
        SPLIT,
        split="reshape",
    ),
    known(
        "attention_over_heads",
        "Attention runs over the heads of each token, not over the tokens: the axes are not "
        "transposed.",
        HEADS,
        split="no transpose",
    ),
    known(
        "heads_by_reshape_then_over_heads",
        "Heads are split by a reshape alone, so that a head's row holds pieces of several tokens; "
        "then attention runs over the wrong axis.",
        SPLIT,
        split="reshape transposed",
    ),
    known(
        "heads_interleaved",
        "Each head takes every so-many-th feature, not a block of neighbours. Trained from the "
        "start this works, but weights from other implementations do not fit.",
        SPLIT,
        split="interleaved",
    ),
    known(
        "heads_interleaved_both",
        "Heads are interleaved with the features, when they are split and when they are merged. "
        "Trained from the start this works, but weights from other implementations do not fit.",
        SPLIT,
        split="interleaved",
        merge="interleaved",
    ),
    known("one_head", "The heads are never split: one head takes the whole width.", HEADS, split="one head"),
    known(
        "heads_not_transposed_back",
        "Heads are merged without transposing them back, so features of different tokens are "
        "mixed.",
        "reshape view flatten",
        merge="reshape",
    ),
    known("heads_added", "The heads' results are added. Join them side by side.", "sum + for", merge="sum"),
    known("first_head_for_all", "The first head's result takes the place of all others.", "[0] cat for", merge="first"),
    known("heads_averaged", "The heads' results are averaged. Join them side by side.", "mean", merge="mean"),
    known("heads_in_reverse", "The heads are joined in reverse order.", "reversed flip [::-1] cat", merge="reverse"),
    known("heads_merged_interleaved", "Heads are merged in interleaved order.", "reshape view flatten", merge="interleaved"),
    known(
        "groups_tiled",
        "Key and value heads are repeated as a block (0 1 0 1). Neighbouring query heads share "
        "one (0 0 1 1).",
        "repeat expand cat repeat_interleave tile",
        groups="tiled",
    ),
    known("no_output_projection", "The output projection is never applied.", "return", output="none"),
    known("output_projection_twice", "The output projection is applied twice.", "return", output="twice"),
    known("negative_result", "The sign of the result is turned around.", "return", output="negative"),
)  # fmt: skip


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    heads: int,
    recipe: Recipe,
    width_in: int = 0,
    kv_heads: int = 0,
    x: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the mixed values (batch, tokens, width) before any output projection."""
    tensors = {"q": q, "k": k, "v": v, "x": v if x is None else x}
    tensors |= {"k0": k[:1].expand_as(k), "v0": v[:1].expand_as(v)}
    q, k, v = (tensors[name] for name in recipe.operands.split())
    kv_heads = kv_heads or heads
    width = heads * (tensors["q"].shape[-1] // heads)
    one = recipe.split == "one head"
    q, k, v = (
        split(t, 1 if one else heads if t.shape[-1] == q.shape[-1] else kv_heads, recipe, name)
        for name, t in (("q", q), ("k", k), ("v", v))
    )
    k, v = (grouped(t, q.shape[1], recipe) for t in (k, v))
    by = factor(recipe, q, heads, width, width_in)
    scores = q @ k.transpose(-2, -1) * by
    weights = weighted(scores, recipe, q.shape[-1], by)
    if recipe.applied == "transposed":
        weights = weights.transpose(-2, -1)
    return merge(weights @ v, recipe, tensors["q"].shape)


def split(value: torch.Tensor, heads: int, recipe: Recipe, name: str) -> torch.Tensor:
    """Return (batch, heads, tokens, head_dim)."""
    b, n, _ = value.shape
    if recipe.split == "reshape" or recipe.odd == name:
        return value.reshape(b, heads, n, -1)
    if recipe.split == "reshape transposed":
        return value.reshape(b, heads, n, -1).transpose(1, 2)
    if recipe.split == "no transpose":
        return value.reshape(b, n, heads, -1)
    if recipe.split == "interleaved":
        return value.reshape(b, n, -1, heads).permute(0, 3, 1, 2)
    return value.reshape(b, n, heads, -1).transpose(1, 2)


def grouped(value: torch.Tensor, heads: int, recipe: Recipe) -> torch.Tensor:
    """Return keys or values with one head for each query head."""
    times = heads // value.shape[1] if heads % value.shape[1] == 0 else 1
    if recipe.groups == "tiled":
        return value.repeat(1, times, 1, 1)
    return value.repeat_interleave(times, dim=1)


def merge(value: torch.Tensor, recipe: Recipe, shape: torch.Size) -> torch.Tensor:
    """Return (batch, tokens, width) of the heads' results."""
    b, n = shape[0], shape[1]
    if recipe.split == "no transpose":
        return value.reshape(b, n, -1)
    if recipe.split == "reshape transposed":
        return value.transpose(1, 2).reshape(b, n, -1)
    if recipe.merge in ("sum", "mean"):
        return value.sum(1) if recipe.merge == "sum" else value.mean(1)
    if recipe.merge == "reverse":
        value = value.flip(1)
    if recipe.merge == "first":
        value = value[:, :1].expand_as(value)
    if recipe.merge == "reshape":
        return value.reshape(b, n, -1)
    if recipe.merge == "interleaved":
        return value.permute(0, 2, 3, 1).reshape(b, n, -1)
    return value.transpose(1, 2).reshape(b, n, -1)


def factor(recipe: Recipe, q: torch.Tensor, heads: int, width: int, width_in: int) -> float:
    """Return the factor of the scores."""
    head_dim, tokens = q.shape[-1], q.shape[-2]
    return {
        "sqrt head_dim": head_dim**-0.5,
        "none": 1.0,
        "sqrt width": width**-0.5,
        "sqrt d_in": (width_in or width) ** -0.5,
        "sqrt heads": heads**-0.5,
        "head_dim": 1 / head_dim,
        "width": 1 / width,
        "times": head_dim**0.5,
        "sqrt tokens": tokens**-0.5,
        "tokens": 1 / tokens,
        "two": 0.5,
    }[recipe.scale]


def weighted(
    scores: torch.Tensor,
    recipe: Recipe,
    head_dim: int,
    by: float,
) -> torch.Tensor:
    """Return the attention weights of scaled scores."""
    if recipe.weights == "negative":
        scores = -scores
    if recipe.weights == "uniform":
        scores = torch.zeros_like(scores)
    hidden = hidden_by(recipe.mask, *scores.shape[-2:])
    if recipe.mask == "times -inf":
        scores = scores + hidden.to(scores.dtype) * -torch.inf
    elif recipe.mask not in AFTER:
        fill = FILLS.get(recipe.mask, -torch.inf)
        scores = scores.masked_fill(hidden, fill * by if "scaled" in recipe.mask else fill)
    weights = normalized(scores, recipe, head_dim)
    return weights.masked_fill(hidden, AFTER[recipe.mask]) if recipe.mask in AFTER else weights


AFTER = {"after": 0.0, "-inf after": -torch.inf}
FILLS = {"zero": 0.0, "one": 1.0, "minus one": -1.0, "minus one, scaled": -1.0}


def hidden_by(mask: str, n: int, m: int) -> torch.Tensor:
    """Return (queries, keys) booleans, True for hidden; the queries are the last of the keys."""
    ones, after = torch.ones(n, m, dtype=torch.bool), m - n
    if mask == "none":
        return ~ones
    if mask == "past":
        return ones.tril(after - 1)
    if mask == "inverted":
        return ones.tril(after)
    return ones.triu({"itself too": 0, "one too late": 2}.get(mask, 1) + after)


def normalized(scores: torch.Tensor, recipe: Recipe, head_dim: int) -> torch.Tensor:
    """Return the weights of masked scores."""
    if recipe.softmax in ("everything", "queries and keys"):
        flat = scores.flatten() if recipe.softmax == "everything" else scores.flatten(2)
        return torch.softmax(flat, -1).view_as(scores)
    axis = {"keys": -1, "queries": -2, "heads": 1, "batch": 0}[recipe.softmax]
    if recipe.weights == "scores":
        return scores
    if recipe.weights == "scaled":
        return torch.softmax(scores, axis) * head_dim**-0.5
    if recipe.weights == "shares":
        return scores / scores.sum(axis, keepdim=True)
    if recipe.weights == "log":
        return torch.log_softmax(scores, axis)
    if recipe.weights == "sigmoid":
        return torch.sigmoid(scores)
    if recipe.weights == "exp":
        return torch.exp(scores)
    if recipe.weights == "twice":
        return torch.softmax(torch.softmax(scores, axis), axis)
    return torch.softmax(scores, axis)
