"""Cases, checks and known mistakes of the exercise CausalAttention."""

import torch

from tensorgrade.author import call, case, check, construct, it, load, normal, shown

from ..attention_modules import (
    called,
    changed_future,
    dropped_weights,
    equal_tokens,
    in_pairs,
    large_scores,
    low_scores,
    on_another_device,
    options_of_dropout,
    rates,
    short_then_long,
    zero_scores,
)
from ..modules import linear_layers, starts, structure
from ..steps import LONG, SENTENCE, Sizes, copied


def cases(pick):
    """Return cases whose texts are mostly shorter than context_length; batch rows differ."""
    full = pick(
        public=[(2, 6, 3, 2), (1, 4, 5, 9)],
        hidden=[(3, 4, 6, 8)],
    )
    draw = Sizes(pick, "CausalAttention")
    short = pick(public=[(2, 3, 4, 5, 6)], hidden=[(1, 1, 3, 4, *draw(LONG))])
    pairs = in_pairs(pick, draw)
    equal = pick(public=[], hidden=[(2, 5, 3, 5)])
    few, most = rates(pick, "CausalAttention")
    (tokens,) = draw((19, 22))
    dropped = pick(public=[(8, 20, 0.3)], hidden=[(20, tokens, most), (1, 2 * tokens, few)])
    options = options_of_dropout(pick, "CausalAttention", ["dropout"] * len(dropped))
    made: dict = {"d_in": 3, "d_out": 4, "context_length": 5}
    twins = [construct(**made, dropout=0.0, qkv_bias=True) for _ in range(2)]
    first = construct(d_in=3, d_out=2, context_length=6, dropout=0.0, seed=123, dtype="float32")
    twice = call(x=torch.stack((SENTENCE, SENTENCE)))
    return [
        shown("sentence/seed 123, twice", first, twice, signature="ignored"),
        *(
            case(f"values/{(b, n, d_in, d_out)}", *module(b, n, d_in, d_out, n))
            for b, n, d_in, d_out in full
        ),
        *(
            case(
                f"{group}/{number}",
                *module(b, n, d_in, width, context, **settings),
                dtype=getattr(torch, settings["dtype"]),
            )
            for number, (group, settings, (b, n, d_in, context, width, _)) in enumerate(pairs)
        ),
        # With equal sizes, mistakes that raise an error elsewhere give values that identify them.
        case("values/square", *module(2, 2, 2, 2, 2)),
        case("values/one feature", *module(2, 4, 1, 1, 4)),
        case("values/float32", *module(2, 5, 4, 3, 5, dtype="float32"), dtype=torch.float32),
        case("values/low scores", *low_scores(linear_layers(3, 4), 2, 4, 3, 4)),
        case("values/zero scores", *zero_scores(linear_layers(3, 5), 2, 4, 3, 5)),
        *(case("values/equal tokens", *equal_tokens(linear_layers(3, 5), *s)) for s in equal),
        case("short/2 tokens, then 5", *short_then_long(linear_layers(3, 5), 3, 5)),
        *(case(f"short/{size[1]} tokens of {size[-1]}", *module(*size)) for size in short),
        *(
            case(f"bias/{size}", *module(*size, bias=True))
            for size in pick(public=[(2, 4, 3, 5, 6)], hidden=[])
        ),
        case("large/1e6", *large_scores(linear_layers(3, 5), 8, 4, 3, 5)),
        case(
            "gradients/in training",
            *module(2, 4, 3, 5, 6, bias=True, gradient=True, training=True),
        ),
        case(
            "gradients/of weights in evaluation",
            *module(1, 3, 6, 5, 3, gradient=True, constants=["x"], dropout=most, dtype="float32"),
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
            for (b, n, p), more in zip(dropped, options, strict=True)
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
