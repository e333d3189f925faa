"""Cases, checks and known mistakes of the exercise GroupedQueryAttention."""

from tensorgrade.author import call, case, check, construct, it, shown, weights

from ..attention_modules import LONGEST, UNEVEN, AttentionModule, rates
from ..steps import SENTENCE
from ..usual import GRADIENTS, KEEPS_ALL, SEES_NO_FUTURE


def layers(d_in, d_out, num_heads, num_kv_heads, qkv_bias=False, **_):
    """Return weights of the projections; those of keys and values are narrower."""
    kv_width = d_out // num_heads * num_kv_heads
    widths = {"W_query": d_out, "W_key": kv_width, "W_value": kv_width}
    values = {f"{name}.weight": weights(width, d_in) for name, width in widths.items()}
    if qkv_bias:
        values |= {f"{name}.bias": weights(width) for name, width in widths.items()}
    return values | {"out_proj.weight": weights(d_out, d_out), "out_proj.bias": weights(d_out)}


MODULE = AttentionModule(
    layers, "d_in d_out context_length dropout num_heads num_kv_heads", shared=2
)


def cases(draw):
    """Return cases with one head of keys, with as many as of queries, and with groups."""
    few, most = rates(draw)
    drawn, sizes, refused = MODULE.drawn, MODULE.few, MODULE.refused
    (more,) = draw((16, 17))
    example = {"b": 1, "d_in": 4, "width": 2, "heads": 2}
    first = construct(**MODULE.arguments(n=6, d_in=3, width=2, heads=2), seed=123, dtype="float32")
    alone = {"b": 1, "heads": 1, "shared": 3, "qkv_bias": True, "dropout": most, "dtype": "float32"}
    return [
        shown("sentence/4 heads, 2 of keys", first, call(x=SENTENCE[None]), signature="ignored"),
        *MODULE.values("all heads", drawn(draw, sizes, shared=1, dropout=few)),
        *MODULE.values("one head of keys", drawn(draw, sizes, heads=1, shared=3, dropout=most)),
        *MODULE.values("values", example, drawn(draw, LONGEST, b=1, shared=3, dropout=few)),
        *MODULE.values("short", drawn(draw, sizes, room=40, dropout=few)),
        *MODULE.values("bias", drawn(draw, MODULE.little, room=40, qkv_bias=True), alone),
        *MODULE.always(draw, dropout=most),
        case("future/cut 3", *MODULE.future()),
        MODULE.dropped(
            "dropout", 8, 40 + more, most, heads=1, shared=1, qkv_bias=True, dtype="float32"
        ),
        MODULE.dropped("dropout", 1, 80 + 2 * more, few, heads=1, shared=1, room=3),
        MODULE.dropped("dropout in heads", 4, 12, 0.35, heads=2),
        *(
            refused(f"indivisible/{d_out} by {heads}", d_out=d_out, num_heads=heads, num_kv_heads=1)
            for d_out, heads in UNEVEN
        ),
        *(
            refused(f"uneven groups/{h} by {kv}", d_out=h * kv, num_heads=h, num_kv_heads=kv)
            for h, kv in UNEVEN
        ),
        *MODULE.causal(draw),
    ]


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
    check(1, *SEES_NO_FUTURE),
    check(
        1.5,
        "In training, single attention weights are dropped; in evaluation none.",
        it.agrees("dropout", only="plain"),
        it.drops_both_halves("dropout"),
        it.drops_entries("dropout in heads", twice=True),
    ),
    check(2.5, "Gradients reach x and all weights.", GRADIENTS),
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
    check(0.5, *KEEPS_ALL),
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
    keys.repeat_interleave(group, dim=1) -> keys[:, :1].expand(-1, self.num_heads, -1, -1)
    values.repeat_interleave(group, dim=1) -> values[:, :1].expand(-1, self.num_heads, -1, -1)
keys_as_wide_as_queries: The projections of keys and values are as wide as those of the queries,
  which saves nothing.
    kv_width = num_kv_heads * self.head_dim -> kv_width = d_out
    keys.reshape(b, num_tokens, self.num_kv_heads, -> keys.reshape(b, num_tokens, self.num_heads,
    - values = values.reshape(b, num_tokens, self.num_kv_heads,
    + values = values.reshape(b, num_tokens, self.num_heads,
    keys = keys.repeat_interleave(group, dim=1) -> pass
    values = values.repeat_interleave(group, dim=1) -> pass
group_size_for_kv_heads: num_kv_heads is used as the number of query heads in a group.
    = num_heads, num_kv_heads -> = num_heads, num_heads // num_kv_heads
    kv_width = num_kv_heads * self.head_dim -> kv_width = self.num_kv_heads * self.head_dim
dropout_pattern_shared_by_query_heads: All query heads drop the same entries. Drop each weight of
  each head independently.
    self.dropout(attn_weights) -> attn_weights * self.dropout(torch.ones_like(attn_weights[:, :1]))
groups_unchecked: A num_heads that is not divisible by num_kv_heads is accepted; it should be
  refused with a clear error.
    if num_heads % num_kv_heads != 0: -> if False:
gqa_heads_unchecked: A d_out that is not divisible by num_heads is accepted; it should be refused
  with a clear error.
    if d_out % num_heads != 0: -> if False:
"""
