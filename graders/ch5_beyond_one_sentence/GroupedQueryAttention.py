"""Cases, checks and known mistakes of the exercise GroupedQueryAttention."""

import torch

from tensorgrade.author import (
    call,
    case,
    check,
    construct,
    it,
    load,
    normal,
    shown,
    weights,
)

from ..attention_modules import (
    called,
    changed_future,
    dropped_weights,
    equal_tokens,
    in_pairs,
    large_scores,
    on_another_device,
    options_of_dropout,
    rates,
    short_then_long,
    zero_scores,
)
from ..modules import starts, structure
from ..steps import BATCH, FEATURES, LONG, SENTENCE, TOKENS, WIDTH, Sizes, copied


def cases(pick):
    """Return cases (b, n, d_in, width of a head, heads, heads of keys, context_length)."""
    draw = Sizes(pick, "GroupedQueryAttention")
    b, n, d_in, width = draw(BATCH, TOKENS, FEATURES, WIDTH)
    groups, shared = draw((3, 5), (2, 6))
    sizes = pick(
        public=[(2, 5, 3, 2, 4, 2, 5), (1, 4, 5, 3, 6, 3, 4)],
        hidden=[(3, 4, 6, 3, 6, 2, 4), (1, n, 3, 2, groups * shared, groups, n)],
    )
    few, most = rates(pick, "GroupedQueryAttention")
    one = pick(public=[(2, 4, 3, 2, 3, 1, 4)], hidden=[(2, 3, 1, 4, 4, 1, 3)])
    full = pick(public=[(2, 4, 3, 3, 2, 2, 4)], hidden=[(b, 5, d_in, width, 2, 2, 5)])
    (tokens,), (kv_heads,) = draw((19, 22)), draw((2, 3))
    thinned = pick(
        public=[("dropout", 0.3, 8, 20, 1, 1), ("dropout in heads", 0.35, 1, 12, 4, 2)],
        hidden=[
            ("dropout", most, 20, tokens, 1, 1),
            ("dropout in heads", 0.35, 4, 12, 2 * kv_heads, kv_heads),
        ],
    )
    options = options_of_dropout(pick, "GroupedQueryAttention", [group for group, *_ in thinned])
    made: dict = {"d_in": 3, "d_out": 8, "context_length": 5, "dropout": 0.1}
    heads = {"num_heads": 4, "num_kv_heads": 2}
    twins = [construct(**made | {"dropout": 0.0}, **heads, qkv_bias=True) for _ in range(2)]
    return [
        shown(
            "sentence/4 heads, 2 of keys",
            construct(
                **made | {"dropout": 0.0, "context_length": 6}, **heads, seed=123, dtype="float32"
            ),
            call(x=SENTENCE[None]),
            signature="ignored",
        ),
        *(case(f"all heads/{size}", *module(*size, dropout=few)) for size in full),
        *(case(f"one head of keys/{size}", *module(*size, dropout=most)) for size in one),
        *(
            case(f"values/{size}", *module(*size, dropout=p))
            for size, p in zip(sizes, pick(public=[0.0, 0.0], hidden=[0.0, few]), strict=True)
        ),
        *(
            case(f"{group}/{number}", *steps, dtype=dtype)
            for number, (group, dtype, steps) in enumerate(combined(pick, draw))
        ),
        case("values/zero scores", *zero_scores(layers(3, 8, 4), 2, 4, 3, 8, **heads)),
        *(
            case("values/equal tokens", *equal_tokens(layers(3, 8, 4), *size, **heads))
            for size in pick(public=[], hidden=[(2, 5, 3, 8)])
        ),
        case("values/square", *module(2, 4, 4, 1, 4, 2, 4)),
        case("values/float32", *module(2, 5, 3, 2, 4, 2, 5, dtype="float32"), dtype=torch.float32),
        *(
            case(f"short/{n} tokens", *module(2, n, 4, width, heads, kv, context, dropout=few))
            for n, width, heads, kv, context in pick(
                public=[(3, 2, 4, 2, 7)], hidden=[(3, 2, 4, 2, *draw(LONG)), (1, 1, 1, 1, 7)]
            )
        ),
        case(
            "short/2 tokens, then 5",
            *short_then_long(layers(3, 8, 4), 3, 8, **heads),
        ),
        *(
            case(f"bias/{size}", *module(*size, qkv_bias=True, **more), dtype=dtype)
            for dtype, size, more in pick(
                public=[(torch.float64, (2, 4, 3, 2, 4, 2, 5), {})],
                hidden=[
                    (torch.float64, (2, 4, 3, 2, 4, 2, 5), {"dropout": few}),
                    (torch.float32, (1, 5, 9, 2, 3, 1, 5), {"dropout": most, "dtype": "float32"}),
                ],
            )
        ),
        case("large/1e6", *large_scores(layers(3, 8, 4), 4, 4, 3, 8, **heads)),
        case(
            "gradients/in training",
            *module(2, 4, 3, 2, 4, 2, 5, qkv_bias=True, gradient=True, training=True),
        ),
        case(
            "gradients/in evaluation",
            *module(1, 5, 7, 2, 3, 1, 5, gradient=True, dropout=most, dtype="float32"),
            dtype=torch.float32,
        ),
        case("future/cut 3", *changed_future(layers(3, 8, 4), 6, 3, 3, 8, **heads)),
        *(
            case(
                f"{group}/p {p}",
                *dropped(b, n, p, heads, kv_heads, **more),
                dtype=getattr(torch, more.get("dtype", "float64")),
                signature="dropped weights",
                rate="dropout",
                parts="num_heads",
            )
            for (group, p, b, n, heads, kv_heads), more in zip(thinned, options, strict=True)
        ),
        case("same/copies", *copied(twins, load(layers(3, 8, 4, True)), normal(2, 5, 3))),
        *starts(**made, **heads),
        case(
            "moved/in training",
            *on_another_device(4, 3, 8, **heads),
            dtype=torch.float32,
            signature="ignored",
        ),
        *(
            case(
                f"parameters/{kv} of 4",
                *structure(**made, num_heads=4, num_kv_heads=kv, qkv_bias=bias),
                signature="structure",
            )
            for kv, bias in ((2, False), (1, True), (4, False))
        ),
        *(
            case(
                f"indivisible/{d_out} by {heads}",
                *structure(**made | {"d_out": d_out, "num_heads": heads, "num_kv_heads": 1}),
                signature="error",
            )
            for d_out, heads in pick(public=[(7, 2)], hidden=draw.uneven(3))
        ),
        *(
            case(
                f"uneven groups/{heads} by {kv}",
                *structure(**made | {"d_out": heads * kv, "num_heads": heads, "num_kv_heads": kv}),
                signature="error",
            )
            for heads, kv in pick(public=[(4, 3)], hidden=draw.uneven(3))
        ),
    ]


def layers(d_in, d_out, kv_width, bias=False, factor=1):
    """Return weights of the projections; keys and values are kv_width wide."""
    widths = {"W_query": d_out, "W_key": kv_width, "W_value": kv_width}
    values = {f"{name}.weight": weights(width, d_in) for name, width in widths.items()}
    values |= {f"{name}.weight": factor * values[f"{name}.weight"] for name in ("W_query", "W_key")}
    if bias:
        values |= {f"{name}.bias": weights(width) for name, width in widths.items()}
    return values | {"out_proj.weight": weights(d_out, d_out), "out_proj.bias": weights(d_out)}


def module(b, n, d_in, width, heads, kv_heads, context, *, factor=1, **settings):
    """Construct the module, load all weights, and call it on b rows of n tokens."""
    bias, d_out = settings.get("qkv_bias", False), width * heads
    values = layers(d_in, d_out, width * kv_heads, bias, factor)
    settings |= {"num_heads": heads, "num_kv_heads": kv_heads}
    return called(values, b, n, d_in, d_out, context, **settings)


def combined(pick, draw):
    """Yield combinations of options as (group, dtype, steps), with all pairs. Hidden cases only."""
    pairs = in_pairs(pick, draw, heads=("few", "many"))
    for at, (group, settings, (b, n, d_in, context, width, kv_heads)) in enumerate(pairs):
        bias, heads = settings.pop("bias"), kv_heads * (1 + at % 3)
        steps = module(b, n, d_in, width, heads, kv_heads, context, qkv_bias=bias, **settings)
        yield group, getattr(torch, settings["dtype"]), steps


def dropped(b, n, p, heads, kv_heads, **more):
    """Return steps with an identity as output projection, so that the result shows the weights."""
    d_out = 2 * n * heads
    identity = {
        "out_proj.weight": torch.eye(d_out, dtype=torch.float64),
        "out_proj.bias": torch.zeros(d_out, dtype=torch.float64),
    }
    made = {"num_heads": heads, "num_kv_heads": kv_heads} | more
    return dropped_weights(b, n, p, identity, heads, kv_heads, **made)


REFUSED = "; creating such a module should raise an error"
UNEVEN_HEADS = f"a d_out that num_heads does not divide is accepted{REFUSED}"
UNEVEN_GROUPS = f"a num_heads that num_kv_heads does not divide is accepted{REFUSED}"


CHECKS = [
    check(0, "It runs on the sentence (seed 123).", it.answered("sentence")),
    check(
        4,
        "With as many heads of keys as of queries, it is chapter 4's layer.",
        it.agrees("all heads"),
    ),
    check(2, "All query heads share one head of keys and values.", it.agrees("one head of keys")),
    check(
        7.1,
        "Groups of neighbouring query heads share a head of keys and values.",
        it.agrees("values"),
    ),
    check(2, "Texts shorter than context_length.", it.agrees("short")),
    check(1, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(0.5, "Scores of a million do not overflow.", it.agrees("large")),
    check(
        1,
        "Later tokens do not change earlier results, in training or in evaluation.",
        it.sees_no_future("future"),
        it.hides_in_training("dropout"),
    ),
    check(
        1.5,
        "In training, single attention weights are dropped; in evaluation none.",
        it.agrees("dropout", only="plain"),
        it.drops_both_halves("dropout"),
        it.drops_entries("dropout in heads", twice=True),
    ),
    check(2.5, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
    check(
        0.9,
        "Keys and values have num_kv_heads heads; the mask is a registered buffer.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
        it.has_buffer("parameters", "mask"),
        it.moves_as_a_whole("moved"),
    ),
    check(
        1,
        "Heads that do not divide d_out or form uneven groups raise an error.",
        it.refuses("indivisible", UNEVEN_HEADS),
        it.refuses("uneven groups", UNEVEN_GROUPS),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.mixes_tokens("future"),
        it.keeps_inputs("values", "bias", "gradients", "same"),
        it.gives_the_same("same"),
    ),
]


MISTAKES = """
groups_dealt_out: Query heads are assigned to the key heads in turn (0 1 0 1). A group should be a
  block of neighbours.
    keys = keys.repeat_interleave(group, dim=1) -> keys = keys.repeat(1, group, 1, 1)
    values = values.repeat_interleave(group, dim=1) -> values = values.repeat(1, group, 1, 1)
values_grouped_differently: Keys and values are repeated differently, so a query head reads other
  values than those of its keys.
    values = values.repeat_interleave(group, dim=1) -> values = values.repeat(1, group, 1, 1)
keys_not_repeated: Keys, values or both are not repeated, so they have fewer heads than the queries.
    keys = keys.repeat_interleave(group, dim=1) -> pass
    values = values.repeat_interleave(group, dim=1) -> pass
first_key_head_for_all: All query heads use the first key head; each group should use its own.
    - keys = keys.repeat_interleave(group, dim=1)
    + keys = keys[:, :1].expand(-1, self.num_heads, -1, -1)
    - values = values.repeat_interleave(group, dim=1)
    + values = values[:, :1].expand(-1, self.num_heads, -1, -1)
keys_as_wide_as_queries: The projections of keys and values are as wide as those of the queries,
  which saves nothing.
    kv_width = num_kv_heads * self.head_dim -> kv_width = d_out
    - keys = keys.reshape(b, num_tokens, self.num_kv_heads,
    + keys = keys.reshape(b, num_tokens, self.num_heads,
    - values = values.reshape(b, num_tokens, self.num_kv_heads,
    + values = values.reshape(b, num_tokens, self.num_heads,
    keys = keys.repeat_interleave(group, dim=1) -> pass
    values = values.repeat_interleave(group, dim=1) -> pass
group_size_for_kv_heads: num_kv_heads is used as the number of query heads in a group.
    - self.num_heads, self.num_kv_heads = num_heads, num_kv_heads
    + self.num_heads, self.num_kv_heads = num_heads, num_heads // num_kv_heads
    kv_width = num_kv_heads * self.head_dim -> kv_width = self.num_kv_heads * self.head_dim
dropout_pattern_shared_by_query_heads: All query heads drop the same entries. Drop each weight of
  each head independently.
    - attn_weights = self.dropout(attn_weights)
    + attn_weights = attn_weights * self.dropout(torch.ones_like(attn_weights[:, :1]))
groups_unchecked: A num_heads that is not divisible by num_kv_heads is accepted; it should be
  refused with a clear error.
    if num_heads % num_kv_heads != 0: -> if False:
gqa_heads_unchecked: A d_out that is not divisible by num_heads is accepted; it should be refused
  with a clear error.
    if d_out % num_heads != 0: -> if False:
"""
