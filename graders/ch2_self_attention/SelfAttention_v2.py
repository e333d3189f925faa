"""Cases, checks and known mistakes of the exercise SelfAttention_v2."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..modules import called, large_scores, linear_layers, mixed, starts, structure, twice
from ..steps import FEATURES, SENTENCE, TOKENS, WIDTH, copied


def cases(draw):
    """Return cases with modules of several sizes, with and without biases."""
    n, d_in, d_out = draw(TOKENS, FEATURES, WIDTH)
    twins = [construct(d_in=3, d_out=4, qkv_bias=True) for _ in range(2)]
    first = construct(d_in=3, d_out=2, seed=789, dtype="float32")
    zeros, ones = torch.zeros(1, 2), torch.ones(1, 2)
    example = {"W_query.weight": zeros, "W_key.weight": ones, "W_value.weight": ones}
    return [
        shown("sentence/seed 789", first, call(x=SENTENCE), signature="ignored"),
        case(
            "values/example",
            construct(d_in=2, d_out=1, dtype="float32"),
            load(example),
            call(x=torch.tensor([[1.0, 2.0], [3.0, 4.0]])),
        ),
        *(
            case(f"values/{size}", *module(*size))
            for size in [(5, 4, 8), (3, 6, 2), (1, 3, 4), (4, 1, 1), (3, 3, 3)]
        ),
        case("values/drawn", *module(n, d_in, d_out)),
        case("values/twice", *twice(linear_layers(3, 4), 3, 4)),
        case("values/float32", *module(7, 5, 4, dtype="float32"), dtype=torch.float32),
        case("bias/drawn", *module(n, d_in, d_out, bias=True)),
        case("bias/one token", *module(1, 3, 4, bias=True)),
        case(
            "bias/float32, in evaluation",
            *module(7, 4, 5, bias=True, dtype="float32", training=False),
            dtype=torch.float32,
        ),
        case("large/1e6", *large_scores(linear_layers(d_in, d_out), n, d_in, d_out)),
        case("gradients/drawn", *module(n, d_in, d_out, bias=True, gradient=True)),
        case(
            "gradients/of weights in evaluation",
            *module(5, 3, 4, gradient=True, training=False, constants=["x"]),
        ),
        case("same/copies", *copied(twins, load(linear_layers(3, 4, bias=True)), normal(5, 3))),
        case("mixed/first token", *mixed(linear_layers(3, 4), 5, 3, 4)),
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


def module(n, d_in, d_out, *, bias=False, **settings):
    """Construct the module, load the weights of three nn.Linear, and call it on n tokens."""
    settings |= {"qkv_bias": True} if bias else {}
    return called(linear_layers(d_in, d_out, bias), n, d_in, d_out, **settings)


CHECKS = [
    check(0, "It runs on the sentence (seed 789).", it.answered("sentence")),
    check(
        4,
        "Projections, attention weights and the weighted sum, with loaded weights.",
        it.agrees("values"),
    ),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(2, "With `qkv_bias=True` each projection adds its bias.", it.agrees("bias")),
    check(2, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.mixes_tokens("mixed"),
        it.keeps_inputs("values", "bias", "gradients"),
        it.gives_the_same("same"),
    ),
]
