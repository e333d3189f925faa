"""The conventions of attention code: what names mean, and the forms of inputs and of masks."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

NO_VALUE = "for which there is no value; --arguments FILE can give one"
NOTHING = 3e-5  # a smaller change, relative to the output, is rounding
Inputs = dict[str, Any]  # by role, each (batch, tokens, width) for attention

# The first pattern that matches a whole name decides. Names are compared in lower case.
CONSTRUCTOR = {
    "kv_heads": r"(n|num)_?(kv|key_?value)_?heads?|kv_?heads|n_?kv|(n|num)_?(query_)?groups|n_rep_kv",
    "heads": r"(n|num)_?(attention_|attn_|query_|q_)?heads?|heads|nhead|nheads|n_?h|h|num_?attention_?heads|(en|de)coder_attention_heads",
    "head_dim": r"(attention_)?head_?(dim|size|width)s?|dim_(per_)?head|d_?(k|v|q|qk|head|kv)|size_per_head|kq_dim",
    "context": r"context_?(length|size|len|window)?|block_?size|max_?(seq(uence)?_?)?(len|length)|seq_?(len|length)|max_position_embeddings|n_?ctx|ctx_?(len|size)|n_?positions|max_?(tokens|t|n|context|ctx|pos\w*)|(num|n)_?tokens|max_?seq\w*|t_?max|sequence_length|window_size|length|num_positions",
    "bias": r"(qkv|use|attention|attn|out|proj|kqv|q|add|with)?_?bias(es)?|has_bias",
    "dropout": r"(\w*_)?(dropout|drop)(_?(p|prob|rate|ratio|probability))?|p|p_?drop(out)?|\w*pdrop|\w*drop_?path\w*|drop_rate",
    "batch_first": r"batch_first",
    "causal": r"(is_|use_)?(causal|autoregressive)(_mask)?|mask(ed|_future)?|is_decoder|unidirectional",
    "d_context": r"(d|dim|n|embed)?_?(context|ctx|memory|cross|encoder|kv|cond|source|y)_?(dim|d|size|features|width)|d_context|dim_context|context_dim|[kv]dim|(cross_attention|encoder_hidden)_(dim|size)|d_(kv_in|memory|enc)",
    "d_out": r"(d|dim|n|size|embed)_?out(put)?|out(put)?_?(dim|d|features|size|channels|width)|proj_dim",
    "eps": r"eps(ilon)?|(layer_|rms_)?norm_eps",
    "d_latent": r"d_?latent|(kv_)?latent_?(dim|size)|(kv_)?lora_rank|d_?c|rank",
    "layers": r"(n|num)_?(layers?|blocks)",
    "vocabulary": r"(vocab|vocabulary|n_?vocab)(_?size)?|num_embeddings|num_chars",
    "hidden": r"(d|dim)_?(ff|feedforward|mlp|inner)|(ffn?|mlp|intermediate|feedforward)_?(dim|size|width)|dim_feedforward|d_inner|n_inner",
    "expansion": r"(mlp|ff|ffn|expansion|expand|forward)_?(ratio|mult|factor|expansion|multiplier)|expansion",
    "width": r"(d|dim|n|hidden|embed(ding)?|emb|model|input|in|feature|channel|token|query)s?_?(model|in(put)?|embed(ding)?s?|embd|emb|dims?|size|features?|width|d|channels?|q|hidden)?s?|width|channels|features|embed_?dim|normalized_shape|c|e|num_features|ndim|all_head_size|hidden_size|num_hiddens",
    "layer": r"layer_?(idx|id|index|number)",
    "cache": r"(kv_?)?cache",
}
CALL = {
    "cache_wanted": r"use_cache|return_cache",
    "mask": r"((key_|src_key_|tgt_key_)?padding|(key|kv|context|ctx|encoder|enc)(_attention)?|pad|valid|attn|attention|causal|src|tgt|self|cross|the|look_ahead|bool)?_?(mask|bias)|m|masks|hidden_positions",
    "causal": r"(is_|use_)?(causal|autoregressive|masked)(_mask)?",
    "cache": r"(kv_?|layer_|key_value_)?(cache|past|state)(_kv|_key_values?)?|past_key_values?|layer_past|memory_kv|past_kv",
    "dropout": r"(dropout|drop)(_?(p|prob|rate))?|dropout_?p|attn_dropout",
    "training": r"(is_)?train(ing)?",
    "block": r"(block|chunk|tile)_?(size|len|length)?",
    "heads": r"(n|num)_?heads?|nheads?|heads|h",
    "positions": r"positions?|pos(ition)?_ids|input_pos|cache_position",
    "start": r"start_?pos(ition)?|offset|start",
    "angles": r"(freqs?|rope|rotary)\w*|cos|sin|position_embeddings|theta",
    "dim": r"dim|axis",
    "q": r"q|query|queries|query_states|q_?(in|input|s|proj|heads?|t|x)?|xq|qs|query_layer",
    "k": r"k|key|keys|key_states|k_?(in|input|s|proj|heads?|t)|xk|ks|key_layer",
    "v": r"v|value|values|value_states|v_?(in|input|s|proj|heads?|t)|xv|vs|value_layer|vals",
    "context": r"context|ctx|memory|encoder_(out(put)?s?|hidden_states?|states)|enc(_out(put)?)?|y|x_?(kv|context|enc|2)|kv|x_for_keys_and_values|others?|source|cond(itioning)?|cross|key_value_states|x2|s",
    "x": r"x|(hidden|input|token)_?(states?|ids|s)?|inputs?(_embeds|_tensor|_q)?|inp|hidden_states|embeddings?|embeds?|tokens?|seq(uence)?s?|src|tgt|emb|features|batch|h|data|tensor|x_?(q|1|in)?|idx|ids|tokens_embedded|sentence|z|t",
}
CONFIGURATION = r"(\w*_)?(config|cfg|conf|args|params|hparams|hp|settings|options|opts)|c"
# Values of a constructor that are the same at all sizes, by role.
FIXED = {"batch_first": True, "cache": None, "eps": 1e-5, "layer": 0}
FIXED |= {"layers": 2, "vocabulary": 11, "expansion": 2}
# By layout: its dimensions, and how to get from (batch, tokens, width) to it and back.
LAYOUTS: dict[str, tuple[int, Callable[[Tensor, int], Tensor], Callable[[Tensor], Tensor]]] = {
    "batch, tokens": (3, lambda x, d: x, lambda x: x),
    "tokens, batch": (3, lambda x, d: x.transpose(0, 1), lambda x: x.transpose(0, 1)),
    "tokens": (2, lambda x, d: x[0], lambda x: x[None]),
    "batch, heads, tokens": (
        4,
        lambda x, d: x.unflatten(-1, (-1, d)).transpose(1, 2),
        lambda x: x.transpose(1, 2).flatten(2),
    ),
    "batch, tokens, heads": (4, lambda x, d: x.unflatten(-1, (-1, d)), lambda x: x.flatten(2)),
}
# By the meaning of a mask: how to get it from booleans that are True for visible keys.
MEANINGS: dict[str, Callable[[Tensor], Tensor]] = {
    "true-hides": lambda shown: ~shown,
    "true-shows": lambda shown: shown,
    "additive": lambda shown: torch.zeros(shown.shape).masked_fill(~shown, -torch.inf),
    "one-shows": lambda shown: shown.float(),
    "one-hides": lambda shown: (~shown).float(),
}
# By the shape of a mask: how to get it from (batch, queries, keys).
SHAPES: dict[str, Callable[[Tensor], Tensor]] = {
    "queries, keys": lambda mask: mask[0],
    "batch, queries, keys": lambda mask: mask,
    "batch, 1, queries, keys": lambda mask: mask[:, None],
    "batch, keys": lambda mask: mask[:, 0],
}


def role_of(name: str, table: dict[str, str]) -> str:
    """Return the role that a parameter has by its name, or an empty text.

    >>> role_of("n_head", CONSTRUCTOR), role_of("attn_mask", CALL), role_of("frobnicate", CALL)
    ('heads', 'mask', '')
    """
    said = name.lower().strip("_")
    return next((role for role, pattern in table.items() if re.fullmatch(pattern, said)), "")


def is_configuration(name: str) -> bool:
    """Return True if a required parameter of this name takes an object with many values."""
    role = role_of(name, CONSTRUCTOR)
    return bool(re.fullmatch(CONFIGURATION, name.lower())) and role in ("", "width")


@dataclass(frozen=True)
class Sizes:
    """The drawn sizes of one run.

    tokens_of_context: the number of keys if they come from elsewhere. dropout: the probability that
    a constructor is given. equal: inputs of a module are as wide as outputs, and a function gets as
    many keys as queries. biases: an option for biases is on.
    """

    batch: int
    tokens: int
    heads: int
    head_dim: int
    kv_heads: int
    tokens_of_context: int
    seed: int
    biases: bool
    dropout: float = 0.0
    equal: bool = False

    @property
    def width(self) -> int:
        """Return the width of all heads together."""
        return self.heads * self.head_dim

    @property
    def values(self) -> dict[str, Any]:
        """Return the values of a constructor by role."""
        wide = self.width + (0 if self.equal else self.heads)
        return FIXED | {
            "width": wide,
            "d_out": self.width,
            "d_context": wide if self.equal else wide + 1,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "context": max(self.tokens, self.tokens_of_context) + 9,
            "dropout": self.dropout,
            "bias": self.biases,
            "d_latent": self.width // 2 + 1,
            "hidden": 2 * self.width,
        }


# Trials are made with the first ones.
DRAWS = (
    Sizes(2, 5, 4, 6, kv_heads=2, tokens_of_context=7, seed=1, biases=False),
    Sizes(3, 6, 2, 4, kv_heads=1, tokens_of_context=4, seed=2, biases=True),
    Sizes(1, 9, 6, 2, kv_heads=3, tokens_of_context=31, seed=3, biases=True),
    Sizes(5, 102, 9, 18, kv_heads=3, tokens_of_context=104, seed=4, biases=False),
)


def angles(name: str, n: int, d: int) -> Tensor:
    """Return cosines, sines or both, by the name of their parameter, which turn nothing."""
    if re.search("cis|complex", name):
        return torch.ones(n, d // 2, dtype=torch.complex64)
    cos, sin = torch.ones(1, n, d), torch.zeros(1, n, d)
    return sin if "sin" in name else cos if "cos" in name else torch.stack((cos, sin))


def sizes_of(inputs: Inputs) -> tuple[int, int, int]:
    """Return the sizes of the batch, and the numbers of queries and of keys."""
    first: Tensor = inputs["x"] if "x" in inputs else inputs["q"]
    other: Tensor = inputs[keys_of(inputs)[0]]
    return first.shape[0], first.shape[1], other.shape[1]


def keys_of(inputs: Inputs) -> list[str]:
    """Return the roles of the inputs that keys and values are made from."""
    if "context" in inputs:
        return ["context"]
    return [name for name in inputs if name in "kv"] or ["x"]


def moved(before: Tensor, after: Tensor) -> bool:
    """Return True if two results differ by more than rounding."""
    return not torch.allclose(before, after, 0, NOTHING * scale_of(before), equal_nan=True)


def scale_of(value: Tensor) -> float:
    """Return the size of a tensor's entries, to compare differences with."""
    finite = value[value.isfinite()]
    return max(float(finite.abs().mean()), 1e-3) if finite.numel() else 1e-3


def changed_at(inputs: Inputs, names: list[str], place: Any) -> Inputs:
    """Return a copy of inputs with other numbers at a place of those with these names."""
    changed = {name: value.clone() for name, value in inputs.items()}
    for name in names:
        changed[name][place] = 1 - inputs[name][place]  # a norm would hide an added constant
    return changed
