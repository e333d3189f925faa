"""Cases, checks and known mistakes of the exercise CachedAttention."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    computed,
    construct,
    it,
    load,
    mode,
    moved,
    normal,
    part,
    shown,
    weights,
)

from ..attention_modules import without_token_1
from ..modules import linear_layers, starts, structure
from ..steps import BATCH, FEATURES, HEADS, SENTENCE, TOKENS, WIDTH, Sizes, with_an_equal_row

CACHE = 1  # the index of the cache in a call's result


def cases(pick):
    """Return cases (b, d_in, width of a head, heads, context_length, chunks of any size)."""
    draw = Sizes(pick, "CachedAttention")
    b, n, d_in, width = draw(BATCH, TOKENS, FEATURES, WIDTH)
    (many,) = draw(HEADS)
    whole = pick(
        public=[(2, 3, 2, 2, 6, (5,))],
        hidden=[(3, 1, 3, 2, 7, (6,)), (1, 3, 2, many, 4, (4,)), (b, 3, 2, 2, n, (n,))],
    )
    single = pick(
        public=[(1, 3, 2, 2, 4, (2, 1))],
        hidden=[
            (2, 4, 3, 2, 6, (3, 1)),
            (2, 3, 1, 1, 9, (1, 1, 1, 1)),
            (1, d_in, 3, 2, n + 9, (n, *[1] * 6)),
        ],
    )
    chunks = pick(
        public=[(2, 3, 2, 2, 8, (3, 2, 2))],
        hidden=[
            (2, 3, 4, 3, 8, (2, 4)),
            (1, 4, width, 2, 9, (1, 3, 5)),
            (3, 2, 3, 2, 7, (2, 2, 2)),
        ],
    )
    made: dict = {"d_in": 3, "d_out": 4, "context_length": 6, "num_heads": 2}
    return [
        shown(
            "sentence/seed 123",
            construct(**made, seed=123, dtype="float32"),
            call(x=SENTENCE[None]),
            signature="ignored",
        ),
        *(case(f"whole/{size}", *in_chunks(*size)) for size in whole),
        case("whole/zero scores", *in_chunks(2, 3, 3, 2, 4, (4,), change=without_token_1)),
        case("whole/square", *in_chunks(2, 4, 2, 2, 4, (4,))),
        case("whole/another text", *afresh(2, 3, 2, 2)),
        case(
            "whole/float32", *in_chunks(2, 3, 2, 2, 6, (5,), dtype="float32"), dtype=torch.float32
        ),
        *(case(f"one by one/{size}", *in_chunks(*size)) for size in single),
        *(case(f"chunks/{size}", *in_chunks(*size)) for size in chunks),
        case("chunks/two texts in turn", *in_turn(2, 3, 2, 2)),
        case("twice/the same cache", *branched(2, 3, 2, 2)),
        case("bias/2 and 2", *in_chunks(2, 3, 2, 2, 5, (2, 2), qkv_bias=True)),
        *(
            case(f"{group}/{number}", *steps, dtype=getattr(torch, dtype))
            for number, (group, dtype, steps) in enumerate(in_pairs(pick, draw))
        ),
        # Many texts, because a fill that is not low enough only shows if visible scores are lower.
        case("large/1e6", *in_chunks(8, 3, 2, 2, 5, (3, 2), factor=1000)),
        case(
            "gradients/2, then 2",
            *in_chunks(2, 3, 2, 2, 5, (2, 2), gradient=True, training=True),
        ),
        case(
            "gradients/in evaluation",
            *in_chunks(1, 4, 3, 2, 6, (3, 1), gradient=True, qkv_bias=True),
        ),
        *(
            case(
                f"parameters/bias {bias}", *structure(**made, qkv_bias=bias), signature="structure"
            )
            for bias in (False, True)
        ),
        *starts(**made),
        case("operations/growth", *grown("few", 2), *grown("many", 30), signature="growth"),
        case(
            "moved/without a cache",
            construct(**made, dtype="float32"),
            moved(x=normal(2, 4, 3)),
            dtype=torch.float32,
            signature="ignored",
        ),
    ]


def built(d_in, d_out, heads, context, *, factor=1, dtype="float64", training=False, **settings):
    """Construct the module and load all weights. factor: on the weights of queries and keys."""
    values = linear_layers(d_in, d_out, settings.get("qkv_bias", False))
    values |= {f"{name}.weight": factor * values[f"{name}.weight"] for name in ("W_query", "W_key")}
    values |= {"out_proj.weight": weights(d_out, d_out), "out_proj.bias": weights(d_out)}
    sizes = {"d_in": d_in, "d_out": d_out, "context_length": context, "num_heads": heads}
    return construct(**sizes, **settings, dtype=dtype), load(values), mode(training)


def in_chunks(
    b, d_in, width, heads, context, chunks, *, gradient=False, change=torch.clone, **settings
):
    """Return calls on one chunk of a text after another, each with the previous call's cache.

    change: a function that changes each chunk's numbers.
    """
    d_out = width * heads
    calls = []
    for at, n in enumerate(chunks):
        last = at == len(chunks) - 1
        given = {"cache": part(f"piece{at - 1}", CACHE)} if at else {}
        asked = {"gradient": (normal(b, n, d_out),)} if gradient and last else {}
        name = "result" if last else f"piece{at}"
        calls.append(call(x=computed(change, normal(b, n, d_in)), **given, **asked, result=name))
    return *built(d_in, d_out, heads, context, **settings), *calls


def in_pairs(pick, draw):
    """Yield combinations of options as (group, dtype, steps), with all pairs. Hidden cases only."""
    options: dict = {"group": ("whole", "one by one", "chunks"), "heads": (1, 2, "many")}
    options |= {"dtype": ("float64", "float32"), "qkv_bias": (False, True), "b": (1, 3)}
    options |= {"room": (0, 4), "change": (torch.clone, with_an_equal_row)}
    for row in draw.pairs(**options) if pick.hidden else ():
        n, d_in, width, *many = draw((7, 12), (3, 16), (2, 6), HEADS)
        group, heads, b, room = row.pop("group"), row.pop("heads"), row.pop("b"), row.pop("room")
        chunks = {"whole": (n,), "one by one": (n - 2, 1, 1), "chunks": (3, n - 3)}[group]
        heads = many[0] if heads == "many" else heads
        steps = in_chunks(b, d_in, width, heads, n + room, chunks, **row)
        yield "bias" if row["qkv_bias"] else group, row["dtype"], steps


def afresh(b, d_in, width, heads):
    """Return calls on few texts, then on more, with other weights: they must be independent."""
    made, values, in_evaluation = built(d_in, width * heads, heads, 6)
    _, others, _ = built(d_in, width * heads, heads, 6)
    return (
        made,
        values,
        in_evaluation,
        call(x=normal(b, 2, d_in), result="first"),
        others,
        call(x=normal(b + 1, 3, d_in), no_grad=True),
    )


def in_turn(b, d_in, width, heads):
    """Return calls on two texts in turn, each with the cache of its own previous chunk."""
    calls = []
    for at, (text, n) in enumerate((("a", 2), ("b", 3), ("a", 1), ("b", 2))):
        given = {"cache": part(f"{text}{at - 2}", CACHE)} if at > 1 else {}
        name = "result" if at == 3 else f"{text}{at}"
        calls.append(call(x=normal(b, n, d_in), **given, result=name))
    return *built(d_in, width * heads, heads, 6), *calls


def branched(b, d_in, width, heads):
    """Return calls that continue two texts from the same cache, which began empty.

    The first must leave the cache unchanged. So must a third text that starts again without a
    cache, in the same tensor that held the start.
    """
    given = {"cache": part("start", CACHE)}
    empty = torch.zeros(b, heads, 0, width, dtype=torch.float64)
    return (
        *built(d_in, width * heads, heads, 6),
        call(x=normal(b, 3, d_in), cache=(empty, empty.clone()), result="start"),
        call(x=normal(b, 3, d_in), refilled="start", result="anew"),
        call(x=normal(b, 2, d_in), **given),
        call(x=normal(b, 1, d_in), **given, result="other"),
    )


def grown(result, n):
    """Return a watched call with one token after n: longer texts must need no more operations."""
    made = construct(d_in=3, d_out=8, context_length=40, num_heads=2)
    return (
        made,
        call(made, x=normal(1, n, 3), result=f"{result}_before"),
        call(
            made,
            x=normal(1, 1, 3),
            cache=part(f"{result}_before", CACHE),
            watch=True,
            result=result,
        ),
    )


CHECKS = [
    check(0, "It runs on the whole sentence (seed 123).", it.answered("sentence")),
    check(
        5,
        "Without a cache, it is causal attention with several heads.",
        it.agrees("whole", only="result.0"),
    ),
    check(
        2,
        "It returns keys and values by head, (b, num_heads, tokens, head_dim).",
        it.agrees("whole", only="result.1"),
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
    check(0.5, "The arguments stay unchanged, including the cache.", it.keeps_inputs("twice")),
    check(1, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(0.5, "Scores of a million do not overflow.", it.agrees("large")),
    check(1, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
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
    check(
        0.5,
        "Three input projections and an output projection, and no other parameters.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
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
    - future = self.mask[num_tokens - n : num_tokens, :num_tokens]
    + future = self.mask[:n, :num_tokens]
new_tokens_unmasked: Nothing is hidden if there is a cache. A new token must not see later tokens of
  the same chunk.
    - future = self.mask[num_tokens - n : num_tokens, :num_tokens]
    + future = self.mask[num_tokens - n : num_tokens, :num_tokens] & (cache is None)
unmasked_without_a_cache: Nothing is hidden without a cache, so each token sees the future. A token
  should see only itself and earlier tokens, with or without a cache.
    - future = self.mask[num_tokens - n : num_tokens, :num_tokens]
    + future = self.mask[num_tokens - n : num_tokens, :num_tokens] & (cache is not None)
cached_nothing_hidden: Nothing is hidden, with or without a cache. A token must not see later tokens
  of the same chunk.
    attn_scores = attn_scores.masked_fill(future, -torch.inf) -> pass
cache_of_new_tokens_only: Only the new tokens' keys and values are returned; return the old ones
  too.
    return output, (keys, values) -> return output, (keys[:, :, -n:], values[:, :, -n:])
cache_without_heads: The returned cache is not split into heads.
    - return output, (keys, values)
    + return output, (keys.transpose(1, 2).flatten(2), values.transpose(1, 2).flatten(2))
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
    - keys = torch.cat((cache[0], keys), dim=2)
    + keys = torch.cat((getattr(self, 'kept', cache)[0], keys), dim=2)
    - values = torch.cat((cache[1], values), dim=2)
    + values = torch.cat((getattr(self, 'kept', cache)[1], values), dim=2)
    - return output, (keys, values)
    + self.kept = keys, values
    + return output, (keys, values)
"""
