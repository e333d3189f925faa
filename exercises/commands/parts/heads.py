"""The attention weights of a learner's own MultiHeadAttention, read from its output alone.

The exercise asks for a class that returns context vectors, not attention weights. But a context
vector is a weighted sum of values. If token j has the value (0, …, 1, …, 0), with the 1 at index j,
the sum *is* the row of weights. So the layer is made wide enough to have one extra feature for each
token, each token gets its own one after its numbers, and W_value and out_proj pass only these
features on. Queries and keys are those of the shipped model.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from tensorgrade import CourseError

from .weights_file import Settings

Attention = Callable[..., nn.Module]  # takes the arguments of chapter 4's MultiHeadAttention
State = dict[str, torch.Tensor]
PARTS = ("W_query", "W_key", "W_value", "out_proj")


@torch.no_grad()
def all_heads(
    attention: Attention, state: State, settings: Settings, ids: torch.Tensor
) -> torch.Tensor:
    """Return (num_layers, num_heads, n, n): row i is what token i looks at, in every head.

    state: a SmallGPT's weights; ids: (n,). The learner's class computes all attention. Raises
    CourseError if it lacks one of its four layers.
    """
    tokens = len(ids)
    x = state["token_embedding.weight"][ids] + state["position_embedding.weight"][:tokens]
    found = []
    for layer in range(settings.num_layers):
        part = weights_below(state, f"blocks.{layer}.")
        seen = normed(x, part, "norm1")
        found.append(head_weights(attention, weights_below(part, "attention."), seen, settings))
        x = x + own_output(attention, weights_below(part, "attention."), seen, settings)
        x = x + fed_forward(normed(x, part, "norm2"), weights_below(part, "feed_forward.layers."))
    return torch.stack(found)


def head_weights(
    attention: Attention, trained: State, x: torch.Tensor, settings: Settings
) -> torch.Tensor:
    """Return (num_heads, n, n): the attention weights of one layer for its input x (n, d)."""
    (tokens, d), heads = x.shape, settings.num_heads
    narrow = d // heads
    wide = max(tokens, narrow)
    place = torch.eye(tokens)
    weights = {name: torch.zeros(heads, wide, d + tokens) for name in PARTS[:3]}
    # A layer divides its scores by sqrt(wide); the trained one divided them by sqrt(narrow).
    for name, factor in (("W_query", (wide / narrow) ** 0.5), ("W_key", 1.0)):
        trained_heads = trained[f"{name}.weight"].reshape(heads, narrow, d)
        weights[name][:, :narrow, :d] = factor * trained_heads
    weights["W_value"][:, :tokens, d:] = place
    state = {f"{name}.weight": weight.flatten(0, 1) for name, weight in weights.items()}
    state["out_proj.weight"] = torch.eye(heads * wide)
    state["out_proj.bias"] = torch.zeros(heads * wide)
    layer = filled(attention(d + tokens, heads * wide, tokens, 0.0, heads), state)
    rows = layer(torch.cat((x, place), dim=1)[None])[0]
    return rows.reshape(tokens, heads, wide)[:, :, :tokens].transpose(0, 1)


def own_output(
    attention: Attention, trained: State, x: torch.Tensor, settings: Settings
) -> torch.Tensor:
    """Return (n, d): the output of the learner's layer with the trained weights."""
    layer = attention(x.shape[1], x.shape[1], settings.context_length, 0.0, settings.num_heads)
    parts = {name: w for name, w in trained.items() if name.partition(".")[0] in PARTS}  # no mask
    return filled(layer, parts)(x[None])[0]


def filled(layer: nn.Module, state: State) -> nn.Module:
    """Return the layer with these weights in its four parts. Raises CourseError if one is missing."""
    own = dict(layer.named_parameters())
    for name, weight in state.items():
        if name not in own or own[name].shape != weight.shape:
            raise CourseError(f"your MultiHeadAttention has no {name} of shape {(*weight.shape,)}")
        own[name].copy_(weight)
    return layer.eval()


def normed(x: torch.Tensor, part: State, name: str) -> torch.Tensor:
    """Return x (n, d) after one of a block's norms."""
    scale, shift = part[f"{name}.scale"], part[f"{name}.shift"]
    return functional.layer_norm(x, x.shape[-1:], scale, shift, 1e-5)


def fed_forward(x: torch.Tensor, part: State) -> torch.Tensor:
    """Return x (n, d) after a block's two layers."""
    inside = functional.linear(x, part["0.weight"], part["0.bias"])
    return functional.linear(functional.gelu(inside), part["2.weight"], part["2.bias"])


def weights_below(state: State, prefix: str) -> State:
    """Return the weights with this prefix, with the prefix removed."""
    return {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}


def share_before(weights: torch.Tensor) -> torch.Tensor:
    """Return (…,) the mean share of weight that a token gives to the previous token.

    weights: (…, n, n), n > 1; the first token has no previous one and is left out.
    """
    return weights.diagonal(-1, -2, -1).mean(-1)


def far_back(weights: torch.Tensor) -> torch.Tensor:
    """Return (…,) how many tokens back it looks, on average over its weight and all tokens.

    weights: (…, n, n).

    >>> far_back(torch.eye(3)), far_back(torch.tensor([[1.0, 0, 0], [1, 0, 0], [1, 0, 0]]))
    (tensor(0.), tensor(1.))
    """
    places = torch.arange(weights.shape[-1], dtype=weights.dtype)
    return (weights * (places[:, None] - places)).sum(-1).mean(-1)


def share_after_the_same(weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return (…,) the mean share for the tokens right after an earlier occurrence of the same token.

    weights: (…, n, n), ids: (n,). Tokens without an earlier occurrence are left out; nan if there
    are no others.
    """
    after = after_the_same(ids)
    rows = after.any(dim=1)
    return (weights * after)[..., rows, :].sum(-1).mean(-1)


def after_the_same(ids: torch.Tensor) -> torch.Tensor:
    """Return (n, n) bool: True if token j comes earlier, right after a token that is equal to i."""
    same = (ids[:, None] == ids[None, :]).tril(-1)
    return same.roll(1, dims=1).tril(-1)
