"""Cases, tests and known mistakes of the exercise SelfAttention_v2."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, construct, load, normal, shown

from ..modules import called, large_scores, linear_layers, mixed, starts, structure, twice
from ..relations import copied
from ..shared import SENTENCE
from ..sizes import FEATURES, TOKENS, WIDTH, Sizes


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


@for_learners("SelfAttention_v2")
def test_SelfAttention_v2_runs_on_the_sentence(attempt):
    """It runs on the sentence (seed 789)."""
    attempt.SelfAttention_v2.answered("sentence")


@exercise("SelfAttention_v2", points=4)
def test_SelfAttention_v2_values(attempt):
    """Projections, attention weights and the weighted sum, with loaded weights."""
    attempt.SelfAttention_v2.agrees("values")


@exercise("SelfAttention_v2", points=1)
def test_SelfAttention_v2_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.SelfAttention_v2.agrees("large")


@exercise("SelfAttention_v2", points=2)
def test_SelfAttention_v2_bias(attempt):
    """With `qkv_bias=True` each projection adds its bias."""
    attempt.SelfAttention_v2.agrees("bias")


@exercise("SelfAttention_v2", points=2)
def test_SelfAttention_v2_gradients(attempt):
    """Gradients reach x and all weights."""
    attempt.SelfAttention_v2.agrees("gradients", only="gradient")


@exercise("SelfAttention_v2", points=0.5)
def test_SelfAttention_v2_parameters(attempt):
    """Exactly the weights of three nn.Linear, with biases only if `qkv_bias` is True."""
    attempt.SelfAttention_v2.has_parameters("parameters")
    attempt.SelfAttention_v2.starts_alive("start")


@exercise("SelfAttention_v2", points=0.5)
def test_SelfAttention_v2_inputs(attempt):
    """The input stays unchanged; a copy, or a loaded `state_dict`, gives the same result."""
    attempt.SelfAttention_v2.mixes_tokens("mixed")
    attempt.SelfAttention_v2.keeps_inputs("values", "bias", "gradients")
    attempt.SelfAttention_v2.gives_the_same("same")
