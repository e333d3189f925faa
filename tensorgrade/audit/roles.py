"""Roles of parameters of constructors, calls and configurations, inferred from their names."""

import inspect
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# The first pattern that matches a whole name decides. Names are compared in lower case.
CONSTRUCTOR = {
    "kv_heads": r"(n|num)_?(kv|key_?value)_?heads?|kv_?heads|n_?kv|(n|num)_?(query_)?groups|n_rep_kv",
    "heads": r"(n|num)_?(attention_|attn_|query_|q_)?heads?|heads|nhead|nheads|n_?h|h|num_?attention_?heads",
    "head_dim": r"(attention_)?head_?(dim|size|width)s?|dim_(per_)?head|d_?(k|v|q|qk|head|kv)"
    r"|size_per_head|kq_dim",
    "context": r"context_?(length|size|len|window)?|block_?size|max_?(seq(uence)?_?)?(len|length)|seq_?(len|length)"
    r"|max_position_embeddings|n_?ctx|ctx_?(len|size)|n_?positions|max_?(tokens|t|n|context|ctx|pos\w*)"
    r"|(num|n)_?tokens|max_?seq\w*|t_?max|sequence_length|window_size|length|num_positions",
    "bias": r"(qkv|use|attention|attn|out|proj|kqv|q|add|with)?_?bias(es)?|has_bias",
    "dropout": r"(\w*_)?(dropout|drop)(_?(p|prob|rate|ratio|probability))?|p|p_?drop(out)?|\w*pdrop|drop_rate",
    "batch_first": r"batch_first",
    "causal": r"(is_|use_)?(causal|autoregressive)(_mask)?|mask(ed|_future)?|is_decoder|unidirectional",
    "d_context": r"(d|dim|n|embed)?_?(context|ctx|memory|cross|encoder|kv|cond|source|y)_?(dim|d|size|features|width)"
    r"|d_context|dim_context|context_dim|[kv]dim|(cross_attention|encoder_hidden)_(dim|size)|d_(kv_in|memory|enc)",
    "d_out": r"(d|dim|n|size|embed)_?out(put)?|out(put)?_?(dim|d|features|size|channels|width)|proj_dim",
    "eps": r"eps(ilon)?|(layer_|rms_)?norm_eps",
    "base": r"base|theta|rope_(base|theta)",
    "d_latent": r"d_?latent|(kv_)?latent_?(dim|size)|(kv_)?lora_rank|d_?c|rank",
    "layers": r"(n|num)_?(layers?|blocks)",
    "vocabulary": r"(vocab|vocabulary|n_?vocab)(_?size)?|num_embeddings|num_chars",
    "hidden": r"(d|dim)_?(ff|feedforward|mlp|inner)|(ffn?|mlp|intermediate|feedforward)_?(dim|size|width)"
    r"|dim_feedforward|d_inner|n_inner",
    "expansion": r"(mlp|ff|ffn|expansion|expand|forward)_?(ratio|mult|factor|expansion|multiplier)|expansion",
    "width": r"(d|dim|n|hidden|embed(ding)?|emb|model|input|in|feature|channel|token|query)s?_?(model|in(put)?|embed(ding)?s?|embd"
    r"|emb|dims?|size|features?|width|d|channels?|q|hidden)?s?|width|channels|features|embed_?dim|normalized_shape"
    r"|c|e|num_features|ndim|all_head_size|hidden_size|num_hiddens",
    "layer": r"layer_?(idx|id|index|number)",
    "cache": r"(kv_?)?cache",
    "dtype": r"dtype",
    "device": r"device",
}
CALL = {
    "weights_wanted": r"(need|return|output|get|with)_?(attn_?|attention_?)?(weights?|attentions?|scores|attn|probs)|output_attentions",
    "cache_wanted": r"use_cache|return_cache",
    "padding": r"(key_|src_key_|tgt_key_)?padding_mask|(key|kv|context|ctx|encoder|enc)_(attention_)?mask|pad_mask|valid_mask",
    "mask": r"((attn|attention|causal|src|tgt|self|cross|the|look_ahead|bool)_?)?(mask|bias)|m|masks|attn_bias|hidden_positions",
    "causal": r"(is_|use_)?(causal|autoregressive|masked)(_mask)?",
    "cache": r"(kv_?|layer_|key_value_)?(cache|past|state)(_kv|_key_values?)?|past_key_values?|layer_past|memory_kv|past_kv",
    "dropout": r"(dropout|drop)(_?(p|prob|rate))?|dropout_?p|attn_dropout",
    "training": r"(is_)?train(ing)?",
    "scale": r"scale|softmax_scale|sm_scale|scaling|temperature",
    "block": r"(block|chunk|tile)_?(size|len|length)?",
    "heads": r"(n|num)_?heads?|nheads?|heads|h",
    "positions": r"positions?|pos(ition)?_ids|input_pos|cache_position",
    "start": r"start_?pos(ition)?|offset|start",
    "angles": r"(freqs?|rope|rotary)\w*|cos|sin|position_embeddings|theta",
    "dim": r"dim|axis",
    "eps": r"eps(ilon)?",
    "lengths": r"(valid_|seq_|key_)?len(gth)?s",
    "q": r"q|query|queries|query_states|q_?(in|input|s|proj|heads?|t|x)?|xq|qs|query_layer",
    "k": r"k|key|keys|key_states|k_?(in|input|s|proj|heads?|t)|xk|ks|key_layer",
    "v": r"v|value|values|value_states|v_?(in|input|s|proj|heads?|t)|xv|vs|value_layer|vals",
    "context": r"context|ctx|memory|encoder_(out(put)?s?|hidden_states?|states)|enc(_out(put)?)?|y|x_?(kv|context|enc|2)|kv"
    r"|x_for_keys_and_values|others?|source|cond(itioning)?|cross|key_value_states|x2|s",
    "x": r"x|(hidden|input|token)_?(states?|ids|s)?|inputs?(_embeds|_tensor|_q)?|inp|hidden_states|embeddings?|embeds?"
    r"|tokens?|seq(uence)?s?|src|tgt|emb|features|batch|h|data|tensor|x_?(q|1|in)?|idx|ids|tokens_embedded|sentence|z|t",
}
CONFIGURATION = re.compile(
    r"(\w*_)?(config|cfg|conf|args|params|hparams|hp|settings|options|opts)|c"
)
PATTERNS = {id(t): [(role, re.compile(p)) for role, p in t.items()] for t in (CONSTRUCTOR, CALL)}


def role_of(name: str, table: dict[str, str]) -> str:
    """Return the role that a parameter has by its name, or an empty text.

    >>> role_of("n_head", CONSTRUCTOR), role_of("attn_mask", CALL), role_of("frobnicate", CALL)
    ('heads', 'mask', '')
    """
    said = name.lower().strip("_")
    return next((role for role, pattern in PATTERNS[id(table)] if pattern.fullmatch(said)), "")


@dataclass(frozen=True)
class Sizes:
    """The drawn sizes of one run.

    tokens_of_context: the number of keys if they come from elsewhere. width_in: the width of an
    input that may differ from `width`; 0 means `width + 2`. dropout: the probability that a
    constructor is given. biases: an option for biases is on. twins: two tokens are equal.
    """

    batch: int = 2
    tokens: int = 5
    heads: int = 2
    head_dim: int = 4
    kv_heads: int = 1
    tokens_of_context: int = 7
    width_in: int = 0
    dropout: float = 0.0
    seed: int = 0
    causal: bool = True
    biases: bool = False
    twins: bool = False

    @property
    def width(self) -> int:
        """Return the width of all heads together."""
        return self.heads * self.head_dim

    def value(self, role: str, equal: bool) -> Any:
        """Return the value for a role of a constructor. equal: the input is as wide as the output.

        Raises KeyError for a role without a value.
        """
        width_in = self.width if equal else self.width_in or self.width + 2
        return {
            "width": width_in,
            "d_out": self.width,
            "d_context": width_in if equal else width_in + 1,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "head_dim": self.head_dim,
            "context": max(self.tokens, self.tokens_of_context) + 9,
            "dropout": self.dropout,
            "batch_first": True,
            "causal": self.causal,
            "d_latent": self.width // 2 + 1,
            "layers": 2,
            "vocabulary": 11,
            "hidden": 2 * self.width,
            "expansion": 2,
            "layer": 0,
            "cache": None,
        }[role]


KEPT_DEFAULTS = {"", "bias", "dtype", "device", "eps", "base", "head_dim", "layer", "cache"}


class Configuration:
    """A configuration object that answers by name, as an attribute and as an item.

    given: the values that the caller of an audit gives, by name.
    """

    def __init__(self, sizes: Sizes, equal: bool, given: dict[str, Any]):
        self.__dict__.update(given, _sizes=sizes, _equal=equal, _attn_implementation="eager")

    def __getattr__(self, name: str) -> Any:
        try:
            return self._sizes.value(role_of(name, CONSTRUCTOR), self._equal)
        except KeyError:
            raise AttributeError(f"nothing is known about `{name}` of the configuration") from None

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value for a name, or the default."""
        return getattr(self, name, default)

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)


def parameters_of(target: Any) -> list[inspect.Parameter]:
    """Return the named parameters of a function or a class's constructor. Raises ValueError."""
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(target).parameters.values()
    return [one for one in found if one.kind not in starred]


def construction(
    target: Any,
    sizes: Sizes,
    equal: bool,
    guesses: dict[str, str],
    given: dict[str, Any],
    module: ModuleType,
) -> dict[str, Any]:
    """Return arguments for a constructor by the roles of its parameters.

    guesses: roles that were tried for parameters whose names say nothing. given: values that the
    caller gives. module: where configurations are looked up. Raises KeyError with the name of a
    parameter without a value.
    """
    arguments: dict[str, Any] = {}
    for one in parameters_of(target):
        role = guesses.get(one.name) or role_of(one.name, CONSTRUCTOR)
        is_needed = one.default is one.empty
        is_object = CONFIGURATION.fullmatch(one.name.lower()) and role in ("", "width")
        if is_needed and is_object:
            known = given.get(one.name, {})
            arguments[one.name] = configuration(one.annotation, sizes, equal, known, module)
        elif one.name in given:
            arguments[one.name] = given[one.name]
        elif not is_needed:
            option = role != "causal" or isinstance(one.default, bool)
            if option and role not in KEPT_DEFAULTS:
                arguments[one.name] = sizes.value(role, equal)
            elif role == "bias" and sizes.biases and one.default is False:
                arguments[one.name] = True
        elif role == "bias" or (not role and one.annotation in (bool, "bool")):
            arguments[one.name] = True
        elif role in ("head_dim", "layer", "cache") or role not in KEPT_DEFAULTS:
            arguments[one.name] = sizes.value(role, equal)
        else:
            raise KeyError(one.name)
    return arguments


def configuration(
    annotation: Any, sizes: Sizes, equal: bool, given: dict[str, Any], module: ModuleType
) -> Any:
    """Return a configuration: of the annotated class, or one that answers by name.

    Of names that say nothing, it knows the defaults in the module's classes of configurations.
    """
    kind = vars(module).get(annotation) if isinstance(annotation, str) else annotation
    if not isinstance(kind, type) or kind is inspect.Parameter.empty or kind in (dict, object):
        classes = {name: one for name, one in vars(module).items() if isinstance(one, type)}
        named = [one for name, one in classes.items() if CONFIGURATION.fullmatch(snake(name))]
        every = [
            one for kind in named for one in parameters_of(kind) if one.default is not one.empty
        ]
        defaults = {one.name: one.default for one in every if not role_of(one.name, CONSTRUCTOR)}
        return Configuration(sizes, equal, defaults | given)
    values = {}
    for one in parameters_of(kind):
        role = role_of(one.name, CONSTRUCTOR)
        if role and (role == "head_dim" or role not in KEPT_DEFAULTS):
            values[one.name] = sizes.value(role, equal)
    made = kind(**(values | given))
    if hasattr(made, "_attn_implementation"):
        made._attn_implementation = "eager"
    return made


def snake(name: str) -> str:
    """Return a name in small letters with underscores.

    >>> snake("applyRotaryEmb")
    'apply_rotary_emb'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
