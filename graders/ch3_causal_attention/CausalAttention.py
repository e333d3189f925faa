"""Cases, checks and known mistakes of the exercise CausalAttention."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..attention_modules import (
    called,
    changed_future,
    dropped_weights,
    equal_tokens,
    large_scores,
    low_scores,
    on_another_device,
    short_then_long,
    zero_scores,
)
from ..modules import linear_layers, starts, structure
from ..steps import BATCH, FEATURES, LONG, SENTENCE, TOKENS, WIDTH, copied


def cases(draw):
    """Return cases whose texts are mostly shorter than context_length; batch rows differ."""
    b, n, d_in, d_out, longer = draw(BATCH, TOKENS, FEATURES, WIDTH, LONG)
    small = {"size": d_in**-0.5}  # so that the scores stay small
    chance = draw.chance("rates")
    few, most = chance.randint(15, 19) / 100, chance.randint(55, 70) / 100
    dropped = [(20, 20, most, {"qkv_bias": True, "longer": 3}), (1, 40, few, {"dtype": "float32"})]
    made: dict = {"d_in": 3, "d_out": 4, "context_length": 5}
    twins = [construct(**made, dropout=0.0, qkv_bias=True) for _ in range(2)]
    first = construct(d_in=3, d_out=2, context_length=6, dropout=0.0, seed=123, dtype="float32")
    twice = call(x=torch.stack((SENTENCE, SENTENCE)))
    return [
        shown("sentence/seed 123, twice", first, twice, signature="ignored"),
        case("values/example", *example()),
        # With equal sizes, mistakes that raise an error elsewhere give values that identify them.
        *(
            case(f"values/{size}", *module(*size))
            for size in [(3, 4, 6, 8, 4), (1, 4, 5, 9, 4), (2, 2, 2, 2, 2), (2, 4, 1, 1, 4)]
        ),
        case("values/drawn", *module(b, n, d_in, d_out, n, **small, dropout=few)),
        case("values/float32", *module(2, 5, 4, 3, 5, dtype="float32"), dtype=torch.float32),
        case("values/low scores", *low_scores(linear_layers(3, 4), 2, 5, 3, 4)),
        case("values/zero scores", *zero_scores(linear_layers(3, 5), 2, 4, 3, 5)),
        case("values/equal tokens", *equal_tokens(linear_layers(3, 5), 2, 4, 3, 5)),
        case("short/2 tokens, then 5", *short_then_long(linear_layers(3, 4), 3, 4)),
        case("short/1 token", *module(1, 1, 3, 4, 5, dropout=most)),
        case("short/drawn", *module(b, n, d_in, d_out, longer, **small)),
        case("bias/drawn", *module(b, n, d_in, d_out, longer, bias=True, **small, dropout=most)),
        case("bias/one text", *module(1, 4, 3, 5, 6, bias=True)),
        case(
            "bias/float32",
            *module(2, 4, 3, 5, 4, bias=True, dtype="float32"),
            dtype=torch.float32,
        ),
        case("large/1e6", *large_scores(linear_layers(d_in, d_out), b, n, d_in, d_out)),
        case(
            "gradients/in training",
            *module(b, n, d_in, d_out, longer, bias=True, gradient=True, training=True, **small),
        ),
        case(
            "gradients/of weights in evaluation",
            *module(1, 3, 6, 5, 4, gradient=True, constants=["x"], dropout=most, dtype="float32"),
            dtype=torch.float32,
        ),
        case("same/copies", *copied(twins, load(linear_layers(3, 4, True)), normal(2, 5, 3))),
        *starts(**made, dropout=0.0),
        case("future/cut 3", *changed_future(linear_layers(3, 5), 6, 3, 3, 5)),
        *(
            case(
                f"dropout/p {p}",
                *dropped_weights(b, n, p, {}, **more),
                dtype=getattr(torch, more.get("dtype", "float64")),
                signature="dropped weights",
                rate="dropout",
            )
            for b, n, p, more in dropped
        ),
        *(
            case(
                f"parameters/bias {bias}",
                *structure(d_in=3, d_out=4, context_length=5, dropout=0.1, qkv_bias=bias),
                signature="structure",
            )
            for bias in (False, True)
        ),
        # Last, because values that learner code caches there cannot help it anywhere else.
        case(
            "moved/in training",
            *on_another_device(5, 3, 4),
            dtype=torch.float32,
            signature="ignored",
        ),
    ]


def example():
    """Return the example of the docstring: each token gets the mean of the tokens up to itself."""
    eye = torch.eye(2)
    layers = {"W_query.weight": 0 * eye, "W_key.weight": eye, "W_value.weight": eye}
    x = torch.tensor([[[2.0, 0.0], [4.0, 6.0]]])
    made = construct(d_in=2, d_out=2, context_length=4, dropout=0.0, dtype="float32")
    return made, load(layers), call(x=x)


def module(b, n, d_in, d_out, context, *, bias=False, **settings):
    """Construct the module, load three nn.Linear, and call it on b rows of n tokens."""
    settings |= {"qkv_bias": True} if bias else {}
    return called(linear_layers(d_in, d_out, bias), b, n, d_in, d_out, context, **settings)


CHECKS = [
    check(
        0,
        "It runs on a batch that contains the sentence twice (seed 123).",
        it.answered("sentence"),
    ),
    check(5, "Masked attention for every row of a batch.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(3, "Texts shorter than context_length.", it.agrees("short")),
    check(2, "With `qkv_bias=True` each projection adds its bias.", it.agrees("bias")),
    check(
        2,
        "Later tokens do not change earlier results, in training or in evaluation.",
        it.sees_no_future("future"),
        it.hides_in_training("dropout"),
    ),
    check(1, "In evaluation nothing is dropped.", it.agrees("dropout", only="plain")),
    check(
        2,
        "In training, single attention weights are dropped and the others scaled up.",
        it.drops_both_halves("dropout"),
    ),
    check(2, "Gradients reach x and all weights.", it.agrees("gradients", only="gradient")),
    check(0.5, "The mask is a buffer named `mask`.", it.has_buffer("parameters", "mask")),
    check(
        0.5,
        "All its tensors move with it to another device, such as a GPU.",
        it.mixes_tokens("future"),
        it.moves_as_a_whole("moved"),
    ),
    check(
        0.5,
        "Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True.",
        it.has_parameters("parameters"),
        it.starts_alive("start"),
    ),
    check(
        0.5,
        "The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result.",
        it.mixes_tokens("future"),
        it.keeps_inputs("values", "bias", "gradients", "same"),
        it.gives_the_same("same"),
    ),
]
