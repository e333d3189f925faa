"""Attention as the papers define it, with every known mistake as an option.

Tensors are (batch, tokens, width), with all heads together. A mistake is one changed option, so a
wrong result can be compared with all of them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from .code import Made
from .layers import ORDERS, layers_by_role, projected
from .roles import Sizes


@dataclass(frozen=True)
class Recipe:
    """The options of an attention formula. The defaults are right, except that nothing is masked."""

    mask: str = "none"
    scale: str = "sqrt head_dim"
    softmax: str = "keys"
    split: str = "blocks"
    merge: str = "heads back"
    operands: str = "q k v"
    groups: str = "neighbours"
    weights: str = "softmax"
    output: str = "projected"


@dataclass(frozen=True)
class Mistake:
    """A mistake: a name and where to look if it is a known one, and a sentence.

    where: words on the line that it may be on, the most telling first. line: the one that raises an
    error, otherwise 0.
    """

    name: str
    where: str
    says: str
    line: int = 0


SCALE = "sqrt rsqrt scale scaling ** / scaled_dot_product_attention softmax"
MASK = "masked_fill masked_fill_ where triu tril mask softmax scaled_dot_product_attention"
TRIANGLE = "triu tril diagonal < > masked_fill where mask"
SPLIT = "view reshape rearrange unflatten chunk"
FILL = "and e to that power is a weight like any other. Fill with -inf."
# The options that a known mistake changes, and those of the mistake itself.
TABLE: tuple[tuple[dict[str, Any], str, str, str], ...] = (
    ({"scale": "none"}, "no_scale", SCALE, "The scores are not divided by sqrt(head_dim)."),
    ({"scale": "sqrt width"}, "scaled_by_sqrt_width", SCALE, "The scores are divided by the square root of the whole width. Each head's dot products run over head_dim numbers only."),
    ({"scale": "sqrt d_in"}, "scaled_by_sqrt_d_in", SCALE, "The scale comes from the width of the input."),
    ({"scale": "sqrt heads"}, "scaled_by_sqrt_heads", SCALE, "The scale comes from the number of heads."),
    ({"scale": "head_dim"}, "scaled_by_head_dim", SCALE, "The scores are divided by head_dim, without the root, or by the root twice."),
    ({"scale": "times"}, "multiplied_by_sqrt_head_dim", SCALE, "The scores are multiplied by sqrt(head_dim), not divided."),
    ({"scale": "sqrt tokens"}, "scaled_by_sqrt_tokens", SCALE, "The scale comes from the number of tokens."),
    ({"softmax": "queries"}, "softmax_over_queries", "softmax sum", "The softmax runs over the queries. Each query's weights should sum to 1 over its keys."),
    ({"softmax": "heads"}, "softmax_over_heads", "softmax sum", "The softmax runs over the heads."),
    ({"softmax": "everything"}, "softmax_over_everything", "softmax sum", "All weights of all heads and sequences share one sum. Each query's own should sum to 1."),
    ({"weights": "scaled", "scale": "none"}, "scaled_after_softmax", "sqrt scale ** softmax", "The weights are scaled after the softmax. Scale the scores before it."),
    ({"mask": "none"}, "no_mask", MASK, "Nothing is masked: each token sees the tokens after it."),
    ({"mask": "past"}, "mask_hides_the_past", TRIANGLE, "The mask hides the past and shows the future."),
    ({"mask": "itself too"}, "mask_one_too_early", TRIANGLE, "The mask hides each token from itself too."),
    ({"mask": "one too late"}, "mask_one_too_late", TRIANGLE, "The mask shows one token of the future."),
    ({"mask": "inverted"}, "mask_inverted", "triu tril ~ == masked_fill where mask", "The mask is inverted: what should be hidden is shown, and what should be shown is hidden."),
    ({"mask": "0"}, "masked_with_zero", f"* {MASK}", f"Hidden scores become 0 before the softmax, {FILL}"),
    ({"mask": "times -inf"}, "mask_times_minus_inf", "inf masked_fill", "The mask is multiplied with -inf, and 0 * -inf is NaN. Use masked_fill."),
    ({"mask": "0 after"}, "masked_after_softmax", MASK, "Weights are zeroed after the softmax, so the rows no longer sum to 1."),
    ({"weights": "scores"}, "no_softmax", "weights= attn= sqrt ** / @ matmul", "There is no softmax: the scores themselves mix the values."),
    ({"weights": "shares"}, "divided_by_sum", "sum softmax", "The scores are divided by their sum, without an exponential."),
    ({"weights": "twice"}, "softmax_twice", "softmax", "The softmax is applied twice."),
    ({"weights": "exp"}, "exponential_not_normalized", "exp", "The exponentials are not divided by their sum."),
    ({"operands": "q q v"}, "scores_mix_nothing", "@ matmul", "The keys do not take part."),
    ({"operands": "k k v"}, "keys_for_queries", "@ matmul", "The keys take the place of the queries."),
    ({"operands": "k q v"}, "queries_and_keys_swapped", "@ matmul", "Queries and keys are swapped."),
    ({"operands": "q k k"}, "keys_as_values", "weights@ attn@ @ matmul einsum", "The keys are mixed instead of the values."),
    ({"operands": "q v v"}, "values_as_keys", "@ matmul", "The values are compared with the queries, not the keys."),
    ({"operands": "q v k"}, "keys_and_values_swapped", "keys= k= @ matmul", "Keys and values are swapped."),
    ({"split": "reshape"}, "heads_by_reshape_alone", SPLIT, "Heads are split by a reshape alone, so that a head's row holds pieces of several tokens. Split the width first, then transpose."),
    ({"split": "no transpose"}, "attention_over_heads", f"{SPLIT} transpose permute", "Attention runs over the heads of each token, not over the tokens: the axes are not transposed."),
    ({"split": "interleaved"}, "heads_interleaved", SPLIT, "Each head takes every so-many-th feature, not a block of neighbours. Trained from the start this works, but weights from other implementations do not fit."),
    ({"split": "one head"}, "one_head", f"{SPLIT} transpose permute", "The heads are never split: one head takes the whole width."),
    ({"merge": "reshape"}, "heads_not_transposed_back", "reshape view flatten", "Heads are merged without transposing them back, so features of different tokens are mixed."),
    ({"merge": "sum"}, "heads_added", "sum + for", "The heads' results are added. Join them side by side."),
    ({"groups": "tiled"}, "groups_tiled", "repeat expand cat repeat_interleave tile", "Key and value heads are repeated as a block (0 1 0 1). Neighbouring query heads share one (0 0 1 1)."),
    ({"output": "none"}, "no_output_projection", "return", "The output projection is never applied."),
)  # fmt: skip


def mistakes(right: Recipe) -> list[tuple[Mistake, Recipe]]:
    """Return each known mistake, and a recipe with it."""
    every = [(Mistake(n, w, s), replace(right, **options)) for options, n, w, s in TABLE]
    return [(mistake, recipe) for mistake, recipe in every if recipe != right]


def attend(operands: dict[str, Tensor], heads: int, kv_heads: int, recipe: Recipe) -> Tensor:
    """Return the mixed values (batch, tokens, width) before any output projection.

    operands: queries q, keys k, values v and inputs x, each (batch, tokens, width).
    """
    width = operands["q"].shape[-1]
    every = []
    for value in map(operands.__getitem__, recipe.operands.split()):
        count = heads if value.shape[-1] == width else kv_heads
        every.append(split(value, 1 if recipe.split == "one head" else count, recipe.split))
    q, k, v = (grouped(one, every[0].shape[1], recipe.groups) for one in every)
    sizes = {"head_dim": q.shape[-1], "tokens": q.shape[-2], "width": width, "heads": heads}
    by = factor(recipe.scale, sizes | {"d_in": operands["x"].shape[-1], "none": 1})
    weights = weighted(q @ k.mT * by, recipe, q.shape[-1])
    return merged(weights @ v, recipe, operands["q"].shape[1])


def split(value: Tensor, heads: int, how: str) -> Tensor:
    """Return (batch, heads, tokens, head_dim)."""
    b, n, _ = value.shape
    if how == "reshape":
        return value.reshape(b, heads, n, -1)
    if how == "interleaved":
        return value.reshape(b, n, -1, heads).permute(0, 3, 1, 2)
    cut = value.reshape(b, n, heads, -1)
    return cut if how == "no transpose" else cut.transpose(1, 2)


def grouped(value: Tensor, heads: int, how: str) -> Tensor:
    """Return keys or values with one head for each query head."""
    times = heads // value.shape[1] if heads % value.shape[1] == 0 else 1
    if how == "tiled":
        return value.repeat(1, times, 1, 1)
    return value.repeat_interleave(times, dim=1)


def factor(scale: str, sizes: dict[str, int]) -> float:
    """Return the factor of the scores. sizes: by name."""
    if scale == "times":
        return float(sizes["head_dim"] ** 0.5)
    power = 0.5 if scale.startswith("sqrt") else 1.0
    return float(sizes[scale.removeprefix("sqrt ")] ** -power)


def weighted(scores: Tensor, recipe: Recipe, head_dim: int) -> Tensor:
    """Return the attention weights of scaled scores."""
    hidden = hidden_by(recipe.mask, *scores.shape[-2:])
    if recipe.mask == "times -inf":
        scores = scores + hidden.to(scores.dtype) * -torch.inf
    elif recipe.mask != "0 after":
        scores = scores.masked_fill(hidden, 0.0 if recipe.mask == "0" else -torch.inf)
    weights = normalized(scores, recipe, head_dim)
    return weights.masked_fill(hidden, 0.0) if recipe.mask == "0 after" else weights


def hidden_by(mask: str, n: int, m: int) -> Tensor:
    """Return (queries, keys) booleans, True for hidden; the queries are the last of the keys."""
    ones, after = torch.ones(n, m, dtype=torch.bool), m - n
    if mask == "none":
        return ~ones
    if mask in ("past", "inverted"):
        return ones.tril(after - (mask == "past"))
    return ones.triu({"itself too": 0, "one too late": 2}.get(mask, 1) + after)


def normalized(scores: Tensor, recipe: Recipe, head_dim: int) -> Tensor:
    """Return the weights of masked scores."""
    if recipe.softmax == "everything":
        return torch.softmax(scores.flatten(), -1).view_as(scores)
    axis = {"keys": -1, "queries": -2, "heads": 1}[recipe.softmax]
    weights = torch.softmax(scores, axis)
    forms: dict[str, Callable[[], Tensor]] = {
        "scores": lambda: scores,
        "shares": lambda: scores / scores.sum(axis, keepdim=True),
        "exp": lambda: torch.exp(scores),
        "twice": lambda: torch.softmax(weights, axis),
        "scaled": lambda: weights * head_dim**-0.5,
    }
    return forms.get(recipe.weights, lambda: weights)()


def merged(value: Tensor, recipe: Recipe, n: int) -> Tensor:
    """Return (batch, tokens, width) of the heads' results."""
    if recipe.split == "no transpose" or recipe.merge == "reshape":
        return value.reshape(value.shape[0], n, -1)
    if recipe.merge == "sum":
        return value.sum(1)
    return value.transpose(1, 2).flatten(2)


def results(
    recipe: Recipe, made: Made, inputs: dict[str, Tensor], sizes: Sizes
) -> Iterator[Tensor]:
    """Yield the result of attention by a recipe, for each convention of storing its weights."""
    layers, _ = layers_by_role(made)
    x = inputs["x"] if "x" in inputs else inputs["q"]
    keys = inputs.get("context", inputs.get("k", x))
    out = layers.get("out") if recipe.output != "none" else None
    for flipped in {False, any(one.is_bare for one in layers.values())}:
        for order in ORDERS if "qkv" in layers else ["blocks"]:
            with suppress(RuntimeError, IndexError):  # the widths do not fit
                q, k, v = projected(layers, (x, keys, inputs.get("v", keys)), order, flipped, sizes)
                operands = {"q": q, "k": k, "v": v, "x": keys}
                mixed = attend(operands, sizes.heads, sizes.kv_heads, recipe)
                yield out(mixed, flipped) if out else mixed
