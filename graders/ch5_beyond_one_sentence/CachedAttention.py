"""Cases, checks and known mistakes of the exercise CachedAttention."""

import torch

from tensorgrade.author import call, case, check, construct, it, normal, part, shown

from ..attention_modules import FEW, LONGEST, AttentionModule
from ..ch4_multi_head_attention.MultiHeadAttention import layers
from ..steps import SENTENCE, TOKENS
from ..usual import FOUR_LAYERS, GRADIENTS, SAME

CACHE = 1  # the index of the cache in a call's result


class Cached(AttentionModule):
    """The cases of attention that continues from a cache."""

    def used(self, *, gradient=False, constants=(), chunks=(), **kind):
        """Return calls on one chunk of a text after another, each with the previous call's cache.

        The chunks have the sizes `chunks`, or n and `more` tokens, if there is more.
        """
        given = self.usual | kind
        chunks = chunks or [given[name] for name in ("n", "more") if name in given]
        calls = []
        for at, n in enumerate(chunks):
            last = at == len(chunks) - 1
            before = {"cache": part(f"piece{at - 1}", CACHE)} if at else {}
            asked: dict = (
                {"gradient": (self.gradient(**given | {"n": n}),)} if gradient and last else {}
            )
            asked |= {"constants": constants, "result": "result" if last else f"piece{at}"}
            calls.append(call(**self.inputs(**given | {"n": n}), **before, **asked))
        return *self.made(**kind | {"n": sum(chunks)}), *calls


MODULE = Cached(layers, "d_in d_out context_length num_heads", few=FEW | {"more": (38, 39)})


def cases(draw):
    """Return cases with texts at once, token by token, and in chunks of any size."""
    drawn, few = MODULE.drawn, MODULE.few
    (long,) = draw(TOKENS)
    example = {"b": 1, "d_in": 3, "width": 2, "heads": 2, "room": 2, "chunks": (5, 1)}
    first = construct(**MODULE.arguments(n=6, d_in=3, width=2, heads=2), seed=123, dtype="float32")
    return [
        shown("sentence/seed 123", first, call(x=SENTENCE[None]), signature="ignored"),
        *MODULE.values("values", drawn(draw, LONGEST, b=1), drawn(draw, FEW, room=40)),
        *MODULE.values("one by one", {"chunks": (6, 1)}, example, {"chunks": (long, *[1] * 6)}),
        *MODULE.values("one by one", {"chunks": (1, 1, 1, 1), "d_in": 1, "width": 1}),
        *MODULE.values("chunks", drawn(draw, few), {"chunks": (8, 6)}, {"chunks": (1, 6, 8)}),
        case("chunks/two texts in turn", *alternating()),
        case("twice/the same cache", *branched()),
        *MODULE.values("bias", drawn(draw, few, qkv_bias=True)),
        *MODULE.values("bias", {"b": 1, "chunks": (6, 7), "qkv_bias": True, "dtype": "float32"}),
        case("operations/growth", *grown("few", 2), *grown("many", 30), signature="growth"),
        *MODULE.always(draw, chunks=(6, 1), qkv_bias=True),
        *MODULE.causal(draw, short="twice"),
    ]


def alternating():
    """Return calls on two texts in turn, each with the cache of its own previous chunk."""
    calls = []
    for at, (text, n) in enumerate((("a", 6), ("b", 7), ("a", 1), ("b", 6))):
        before = {"cache": part(f"{text}{at - 2}", CACHE)} if at > 1 else {}
        name = "result" if at == 3 else f"{text}{at}"
        calls.append(call(**MODULE.inputs(**MODULE.usual | {"n": n}), **before, result=name))
    return *MODULE.made(room=8), *calls


def branched():
    """Return calls that continue two texts from the same cache, which began empty.

    The first must leave the cache unchanged. So must a third text that starts again without a
    cache, in the same tensor that held the start.
    """
    before = {"cache": part("start", CACHE)}
    b, heads, width = (MODULE.usual[name] for name in ("b", "heads", "width"))
    empty = torch.zeros(b, heads, 0, width, dtype=torch.float64)
    start, anew, first, other = (MODULE.inputs(**MODULE.usual | {"n": n}) for n in (7, 7, 6, 1))
    return (
        *MODULE.made(room=8),
        call(**start, cache=(empty, empty.clone()), result="start"),
        call(**anew, refilled="start", result="anew"),
        call(**first, **before),
        call(**other, **before, result="other"),
    )


def grown(result, n):
    """Return a watched call with one token after n: longer texts must need no more operations."""
    made = construct(d_in=3, d_out=8, context_length=40, num_heads=2)
    before = f"{result}_before"
    last = {"cache": part(before, CACHE), "watch": True, "result": result}
    return made, call(made, x=normal(1, n, 3), result=before), call(made, x=normal(1, 1, 3), **last)


CHECKS = [
    check(0, "It runs on the whole sentence (seed 123).", it.answered("sentence")),
    check(
        5,
        "Without a cache, it is causal attention with several heads.",
        it.agrees("values", only="result.0"),
    ),
    check(
        2,
        "It returns keys and values by head, (b, num_heads, tokens, head_dim).",
        it.agrees("values", only="result.1"),
        it.agrees("one by one", only="result.1"),
    ),
    check(
        4,
        "One token at a time gives the same result as the whole text.",
        it.agrees("one by one", only="result.0"),
    ),
    check(
        4,
        "Chunks of any size give the same result as the whole text.",
        it.agrees("chunks", only="result.0"),
    ),
    check(0.5, "Two texts can continue from the same cache.", it.agrees("twice")),
    check(
        0.5,
        "The arguments and the cache stay unchanged; a copy or a loaded `state_dict` is the same.",
        it.keeps_inputs("twice"),
        SAME,
    ),
    check(1, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(0.5, "Scores of a million do not overflow.", it.agrees("large")),
    check(1, "Gradients reach x and all weights.", GRADIENTS),
    check(
        0.5,
        "A longer text needs no more operations for one more token.",
        it.does_not_grow("operations", "more tokens take more operations"),
    ),
    check(
        0.5,
        "The mask is a buffer named `mask`, which moves to another device, such as a GPU.",
        it.has_buffer("parameters", "mask"),
        it.moves_as_a_whole("moved"),
    ),
    check(0.5, *FOUR_LAYERS),
]

MISTAKES = """
cache_ignored: The cache is never used: each chunk attends only to itself.
    keys = torch.cat((cache[0], keys), dim=2) -> pass
    values = torch.cat((cache[1], values), dim=2) -> pass
new_before_cache: The new keys and values are placed before the old ones. Later tokens belong at the
  end.
    keys = torch.cat((cache[0], keys), dim=2) -> keys = torch.cat((keys, cache[0]), dim=2)
    values = torch.cat((cache[1], values), dim=2) -> values = torch.cat((values, cache[1]), dim=2)
only_keys_cached: Only the keys of the old tokens come from the cache; their values are missing.
    values = torch.cat((cache[1], values), dim=2) -> pass
cache_joined_along_heads: Old and new are joined along the heads. Which dimension of (b, heads,
  tokens, head_dim) grows with the text?
    keys = torch.cat((cache[0], keys), dim=2) -> keys = torch.cat((cache[0], keys), dim=1)
    values = torch.cat((cache[1], values), dim=2) -> values = torch.cat((cache[1], values), dim=1)
first_rows_of_the_mask: The new tokens get the first rows of the mask. They come after the t old
  tokens, so their rows begin at row t.
    self.mask[num_tokens - n : num_tokens, -> self.mask[:n,
new_tokens_unmasked: Nothing is hidden if there is a cache. A new token must not see later tokens of
  the same chunk.
    : num_tokens, :num_tokens] -> : num_tokens, :num_tokens] & (cache is None)
unmasked_without_a_cache: Nothing is hidden without a cache, so each token sees the future. A token
  should see only itself and earlier tokens, with or without a cache.
    : num_tokens, :num_tokens] -> : num_tokens, :num_tokens] & (cache is not None)
cached_nothing_hidden: Nothing is hidden, with or without a cache. A token must not see later tokens
  of the same chunk.
    attn_scores = attn_scores.masked_fill(future, -torch.inf) -> pass
cache_of_new_tokens_only: Only the new tokens' keys and values are returned; return the old ones
  too.
    return output, (keys, values) -> return output, (keys[:, :, -n:], values[:, :, -n:])
cache_without_heads: The returned cache is not split into heads.
    (keys, values) -> (keys.transpose(1, 2).flatten(2), values.transpose(1, 2).flatten(2))
cache_exchanged: Keys and values are swapped in the cache.
    return output, (keys, values) -> return output, (values, keys)
no_cache_returned: Only the output is returned; return output and cache.
    return output, (keys, values) -> return output
cache_kept_in_the_module: The module stores its own cache, so one call changes the next one's
  result. Pass the cache in and out as an argument instead.
    - keys = torch.cat((cache[0], keys), dim=2)
    + cache = self.kept = getattr(self, 'kept', cache)
    + keys = torch.cat((cache[0], keys), dim=2)
cache_of_the_last_call 30%: The module continues from the keys and values of its last call and
  ignores the cache that is passed in. Two texts may take turns: continue from the argument.
    cache[0], -> getattr(self, 'kept', cache)[0],
    cache[1], -> getattr(self, 'kept', cache)[1],
    - return output, (keys, values)
    + self.kept = keys, values
    + return output, (keys, values)
cache_kept_in_the_layer: The layer keeps the last cache and goes on from it if none is passed in. It
  should know earlier tokens only from the cache that is passed in.
    - if cache is not None:
    + cache = getattr(self, "kept", None) if cache is None else cache
    + if cache is not None:
    - num_tokens = keys.shape[2]
    + self.kept = (keys, values)
    + num_tokens = keys.shape[2]
"""
