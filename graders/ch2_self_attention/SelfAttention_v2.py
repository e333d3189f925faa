"""Cases, checks and known mistakes of the exercise SelfAttention_v2."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..modules import called, linear_layers, of_self_attention, starts, structure
from ..steps import FEATURES, MODERATE, SENTENCE, TOKENS, WIDTH, copied
from ..usual import ATTENDS, COPIED, GRADIENTS, SAME, THREE_LAYERS


def cases(draw):
    """Return cases with modules of several sizes, with and without biases."""
    drawn, few = draw(TOKENS, FEATURES, WIDTH), draw(MODERATE, MODERATE, MODERATE)
    asked = {"d_in": 3, "d_out": 4, "qkv_bias": True}
    first = construct(d_in=3, d_out=2, seed=789, dtype="float32")
    zeros, ones = torch.zeros(1, 2), torch.ones(1, 2)
    return [
        shown("sentence/seed 789", first, call(x=SENTENCE), signature="ignored"),
        case(
            "values/example",
            construct(d_in=2, d_out=1, dtype="float32"),
            load({"W_query.weight": zeros, "W_key.weight": ones, "W_value.weight": ones}),
            call(x=torch.tensor([[1.0, 2.0], [3.0, 4.0]])),
        ),
        *of_self_attention(linear_layers, draw),
        case("bias/drawn", *with_biases(*drawn)),
        case("bias/one token", *with_biases(1, 3, 4)),
        case(
            "bias/float32, in evaluation",
            *with_biases(7, 4, 5, dtype="float32", training=False),
            dtype=torch.float32,
        ),
        case("gradients/of biases", *with_biases(*few, gradient=True)),
        case("same/copies", *copied(asked, linear_layers(3, 4, bias=True), normal(5, 3))),
        *starts(d_in=3, d_out=4),
        *(
            case(
                f"parameters/bias {bias}",
                *structure(d_in=3, d_out=4, qkv_bias=bias),
                signature="structure",
            )
            for bias in (False, True)
        ),
    ]


def with_biases(n, d_in, d_out, **settings):
    """Return a call of a module whose projections have biases."""
    values = linear_layers(d_in, d_out, bias=True)
    return called(values, n, d_in, d_out, qkv_bias=True, **settings)


CHECKS = [
    check(0, "It runs on the sentence (seed 789).", it.answered("sentence")),
    check(4, *ATTENDS),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(2, "With `qkv_bias=True` each projection adds its bias.", it.agrees("bias")),
    check(2, "Gradients reach x and all weights.", GRADIENTS),
    check(0.5, *THREE_LAYERS),
    check(
        0.5, COPIED, it.mixes_tokens("mixed"), it.keeps_inputs("values", "bias", "gradients"), SAME
    ),
]
