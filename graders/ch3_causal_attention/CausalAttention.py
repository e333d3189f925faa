"""Cases, checks and known mistakes of the exercise CausalAttention."""

import torch

from tensorgrade.author import call, case, check, construct, it, shown

from ..attention_modules import LONGEST, LOW, AttentionModule, averaging, rates
from ..modules import linear_layers
from ..steps import SENTENCE
from ..usual import GRADIENTS, KEEPS_ALL, MOVES, RUNS, SEES_NO_FUTURE, THREE_LAYERS


def layers(d_in, d_out, qkv_bias=False, **_):
    """Return weights of three projections."""
    return linear_layers(d_in, d_out, qkv_bias)


MODULE = AttentionModule(layers, "d_in d_out context_length dropout", heads=1)


def cases(draw):
    """Return cases of one head, also on texts that are shorter than context_length."""
    few, most = rates(draw)
    (more,) = draw((16, 17))
    first = construct(d_in=3, d_out=2, context_length=6, dropout=0.0, seed=123, dtype="float32")
    twice = call(x=torch.stack((SENTENCE, SENTENCE)))
    example = {"b": 1, "n": 2, "room": 2, "d_in": 2, "width": 2, "weights": averaging}
    alone = {"b": 1, "qkv_bias": True, "dropout": most, "dtype": "float32"}
    return [
        shown("sentence/seed 123, twice", first, twice, signature="ignored"),
        *MODULE.values("values", example, MODULE.drawn(draw, LONGEST, b=1), LOW),
        *MODULE.values("values", MODULE.drawn(draw, MODULE.few, dropout=most)),
        *MODULE.values("short", MODULE.drawn(draw, MODULE.little, room=40, dropout=few)),
        *MODULE.values("bias", MODULE.drawn(draw, MODULE.little, room=40, qkv_bias=True), alone),
        *MODULE.always(draw, dropout=most),
        case("future/cut 3", *MODULE.future()),
        MODULE.dropped("dropout", 8, 40 + more, most, qkv_bias=True, dtype="float32"),
        MODULE.dropped("dropout", 1, 80 + 2 * more, few, room=3),
        *MODULE.causal(draw),
    ]


CHECKS = [
    check(0, *RUNS),
    check(5, "Masked attention for every row of a batch.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(3, "Texts shorter than context_length.", it.agrees("short")),
    check(2, "With `qkv_bias=True` each projection adds its bias.", it.agrees("bias")),
    check(2, *SEES_NO_FUTURE),
    check(1, "In evaluation nothing is dropped.", it.agrees("dropout", only="plain")),
    check(
        2,
        "In training, single attention weights are dropped and the others scaled up.",
        it.drops_both_halves("dropout"),
    ),
    check(2, "Gradients reach x and all weights.", GRADIENTS),
    check(0.5, "The mask is a buffer named `mask`.", it.has_buffer("parameters", "mask")),
    check(0.5, *MOVES),
    check(0.5, *THREE_LAYERS),
    check(0.5, *KEEPS_ALL),
]
