"""Cases, checks and known mistakes of the exercise SelfAttention_v2."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..modules import called, large_scores, linear_layers, mixed, starts, structure, twice
from ..steps import FEATURES, SENTENCE, TOKENS, WIDTH, Sizes, copied


def cases(pick):
    """Return cases with modules of several sizes, with and without biases."""
    big = Sizes(pick, "SelfAttention_v2")(TOKENS, FEATURES, WIDTH)
    sizes = pick(
        public=[(6, 3, 2), (4, 5, 9)],
        hidden=[(5, 4, 8), (3, 6, 2), big],
    )
    twins = [construct(d_in=3, d_out=4, qkv_bias=True) for _ in range(2)]
    first = construct(d_in=3, d_out=2, seed=789, dtype="float32")
    return [
        shown("sentence/seed 789", first, call(x=SENTENCE), signature="ignored"),
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/one token", *module(1, 3, 4)),
        case("values/one feature", *module(4, 1, 1)),
        case("values/twice", *twice(linear_layers(3, 4), 3, 4)),
        case("values/square", *module(3, 3, 3)),
        case("values/float32", *module(7, 5, 4, dtype="float32"), dtype=torch.float32),
        case("bias/5x3x4", *module(5, 3, 4, bias=True)),
        *(
            case(f"bias/{size}", *module(*size, bias=True))
            for size in pick(public=[], hidden=[big])
        ),
        case(
            "bias/float32, in evaluation",
            *module(6, 4, 5, bias=True, dtype="float32", training=False),
            dtype=torch.float32,
        ),
        case("large/1e6", *large_scores(linear_layers(3, 4), 12, 3, 4)),
        case("gradients/5x3x4", *module(5, 3, 4, bias=True, gradient=True)),
        case(
            "gradients/of weights in evaluation",
            *module(5, 3, 4, gradient=True, training=False, constants=["x"]),
        ),
        case(
            "same/copies",
            *copied(twins, load(linear_layers(3, 4, bias=True)), normal(5, 3)),
        ),
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
