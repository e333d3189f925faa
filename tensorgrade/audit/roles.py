"""Roles of parameters of constructors, calls and configurations, inferred from their names."""

import re
from dataclasses import dataclass
from typing import Any

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
FIXED = {"batch_first": True, "causal": True, "cache": None, "eps": 1e-5, "layer": 0}
FIXED |= {"layers": 2, "vocabulary": 11, "expansion": 2}


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

    batch: int = 2
    tokens: int = 5
    heads: int = 2
    head_dim: int = 4
    kv_heads: int = 1
    tokens_of_context: int = 7
    dropout: float = 0.0
    seed: int = 0
    equal: bool = False
    biases: bool = False

    @property
    def width(self) -> int:
        """Return the width of all heads together."""
        return self.heads * self.head_dim

    @property
    def values(self) -> dict[str, Any]:
        """Return the values of a constructor by role."""
        wide = self.width if self.equal else self.width + 2
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
