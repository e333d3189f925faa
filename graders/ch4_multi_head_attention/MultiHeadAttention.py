"""Cases, checks and known mistakes of the exercise MultiHeadAttention."""

import torch

from tensorgrade.author import call, case, check, construct, it, normal, shown, weights

from ..attention_modules import LONGEST, LOW, UNEVEN, AttentionModule, averaging, rates
from ..modules import linear_layers
from ..steps import SENTENCE
from ..usual import FOUR_LAYERS, GRADIENTS, KEEPS_ALL, MOVES, RUNS, SEES_NO_FUTURE


def layers(d_in, d_out, qkv_bias=False, **_):
    """Return weights of three input projections and an output projection, which has a bias."""
    output = {"out_proj.weight": weights(d_out, d_out), "out_proj.bias": weights(d_out)}
    return linear_layers(d_in, d_out, qkv_bias) | output


MODULE = AttentionModule(layers, "d_in d_out context_length dropout num_heads")


def cases(draw):
    """Return cases with one head and with several."""
    few, most = rates(draw)
    more, heads = draw((16, 17), (16, 17))
    first = construct(**MODULE.arguments(n=6, d_in=3, width=1, heads=2), seed=123, dtype="float32")
    twice = call(x=torch.stack((SENTENCE, SENTENCE)))
    example = {"b": 1, "n": 2, "room": 2, "d_in": 2, "width": 1, "heads": 2, "weights": averaging}
    alone = {"b": 1, "heads": 1, "qkv_bias": True, "dropout": most, "dtype": "float32"}
    return [
        shown("sentence/seed 123, twice", first, twice, signature="ignored"),
        *MODULE.values("one head", MODULE.drawn(draw, MODULE.few, heads=1, dropout=few)),
        *MODULE.values("values", example, MODULE.drawn(draw, LONGEST, b=1, dropout=most), LOW),
        *MODULE.values("short", MODULE.drawn(draw, MODULE.few, room=40, dropout=few)),
        *MODULE.values("bias", MODULE.drawn(draw, MODULE.little, room=40, qkv_bias=True), alone),
        *MODULE.always(draw, dropout=most),
        case("future/cut 3", *MODULE.future()),
        MODULE.dropped("dropout", 8, 40 + more, most, heads=1, qkv_bias=True, dtype="float32"),
        MODULE.dropped("dropout", 1, 80 + 2 * more, few, heads=1, room=3),
        MODULE.dropped("dropout in heads", 8, 9, 0.4, heads=heads),
        *(
            MODULE.refused(f"indivisible/{d_out} by {heads}", d_out=d_out, num_heads=heads)
            for d_out, heads in UNEVEN
        ),
        case("operations/growth", *watched("few", 2), *watched("many", 8), signature="growth"),
        *MODULE.causal(draw),
    ]


def watched(result, heads):
    """Return a watched call: the number of matrix products must not grow with the heads."""
    made = construct(d_in=3, d_out=8, context_length=5, dropout=0.0, num_heads=heads)
    return made, call(x=normal(2, 5, 3), watch=True, result=result)


CHECKS = [
    check(0, *RUNS),
    check(
        3,
        "With one head, it is causal attention followed by an output projection.",
        it.agrees("one head"),
    ),
    check(8, "With several heads.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(4, "Texts shorter than context_length.", it.agrees("short")),
    check(2, "With `qkv_bias=True` each input projection adds its bias.", it.agrees("bias")),
    check(2, *SEES_NO_FUTURE),
    check(1, "In evaluation nothing is dropped.", it.agrees("dropout", only="plain")),
    check(
        3,
        "In training, single attention weights are dropped and the others scaled up.",
        it.drops_both_halves("dropout"),
        it.drops_entries("dropout in heads", twice=True),
    ),
    check(3, "Gradients reach x and all weights.", GRADIENTS),
    check(
        0.75,
        "A d_out that num_heads does not divide raises an error.",
        it.refuses(
            "indivisible",
            "a d_out that num_heads does not divide is accepted; raise an error when the "
            "module is created",
        ),
    ),
    check(
        0.75,
        "All heads are computed at once: more heads need no more operations.",
        it.mixes_tokens("future"),
        it.does_not_grow("operations", "more heads take more operations"),
    ),
    check(0.25, "The mask is a buffer named `mask`.", it.has_buffer("parameters", "mask")),
    check(0.25, *MOVES),
    check(0.5, *FOUR_LAYERS),
    check(0.5, *KEEPS_ALL),
]

MISTAKES = """
softmax_over_heads 40%: The softmax runs over the heads, so the heads compete for each pair of
  tokens instead of each distributing its own attention.
    , dim=-1) -> , dim=1)
dropout_on_output_too: Dropout acts on the weights, and then again on the values or the output. It
  should act on the weights only.
    return self.out_proj(context_vec) -> return self.dropout(self.out_proj(context_vec))
dropout_pattern_shared_by_heads: All heads drop the same entries. Drop each weight of each head
  independently.
    self.dropout(attn_weights) -> attn_weights * self.dropout(torch.ones_like(attn_weights[:, :1]))
no_output_projection: The heads are joined but not mixed: the output projection is not applied.
    return self.out_proj(context_vec) -> return context_vec
output_projection_twice 30%: The output projection is applied twice.
    return self.out_proj(context_vec) -> return self.out_proj(self.out_proj(context_vec))
output_projection_from_d_in: The output projection expects d_in features, but the joined heads have
  d_out.
    nn.Linear(d_out, d_out) -> nn.Linear(d_in, d_out)
output_projection_without_bias 20%: The output projection has no bias; it should always have one.
    nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=False)
output_bias_tied_to_qkv_bias 20%: The output projection's bias follows `qkv_bias`, which is about
  queries, keys and values only.
    nn.Linear(d_out, d_out) -> nn.Linear(d_out, d_out, bias=qkv_bias)
keys_split_differently 40%: Queries and keys are split in different ways, so a head compares
  features that do not belong together.
    - keys = keys.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + keys = keys.reshape(b, self.num_heads, num_tokens, self.head_dim)
values_split_differently 40%: Values are split differently from queries and keys.
    - values = values.reshape(b, num_tokens, self.num_heads, self.head_dim).transpose(1, 2)
    + values = values.reshape(b, self.num_heads, num_tokens, self.head_dim)
heads_in_a_loop: The heads are computed one after another; compute them all at once.
    - queries @ keys.transpose(2, 3)
    + torch.stack(
    +     [queries[:, i] @ keys[:, i].transpose(1, 2) for i in range(self.num_heads)], dim=1
    + )
num_heads_unchecked: A d_out that is not divisible by num_heads is accepted; it should be refused
  with a clear error.
    if d_out % num_heads != 0: -> if False:
head_dim_from_d_in: head_dim is computed from d_in. The heads divide the projections' features,
  d_out.
    self.head_dim = d_out // num_heads -> self.head_dim = d_in // num_heads
heads_scaled_by_d_in 30%: The scale comes from d_in. `head_dim` is d_out divided by the number of
  heads.
    / d_k**0.5 -> / (d_in // self.num_heads) ** 0.5
"""
