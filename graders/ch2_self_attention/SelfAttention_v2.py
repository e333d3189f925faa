"""All that judges SelfAttention_v2: its cases, tests and own mistakes."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, construct, shown

from ..modules import called, linear_layers, structure, twice
from ..shared import SENTENCE


def cases(pick):
    """Modules of several sizes, with and without biases."""
    sizes = pick(
        public=[(6, 3, 2), (4, 5, 9)],
        hidden=[(6, 3, 5), (5, 4, 8), (3, 6, 2), (8, 2, 7), (4, 5, 16)],
    )
    first = construct(d_in=3, d_out=2, seed=789, dtype="float32")
    return [
        shown("sentence/seed 789", first, call(x=SENTENCE), signature="ignored"),
        *(case(f"values/{size}", *module(*size)) for size in sizes),
        case("values/one token", *module(1, 3, 4)),
        case("values/twice", *twice(linear_layers(3, 4), 3, 4)),
        case("values/square", *module(3, 3, 3)),
        case("values/float32", *module(7, 5, 4, dtype="float32"), dtype=torch.float32),
        case("bias/5x3x4", *module(5, 3, 4, bias=True)),
        case("gradients/5x3x4", *module(5, 3, 4, bias=True, gradient=True)),
        *(
            case(
                f"parameters/bias {bias}",
                *structure(d_in=3, d_out=4, qkv_bias=bias),
                signature="structure",
            )
            for bias in (False, True)
        ),
    ]


def module(n, d_in, d_out, bias=False, **settings):
    """Constructed, given the weights of three nn.Linear, called on n tokens."""
    settings |= {"qkv_bias": True} if bias else {}
    return called(linear_layers(d_in, d_out, bias), n, d_in, d_out, **settings)


@for_learners("SelfAttention_v2")
def test_SelfAttention_v2_runs_on_the_sentence(attempt):
    """The sentence goes through (seed 789)."""
    attempt.SelfAttention_v2.answered("sentence")


@exercise("SelfAttention_v2", points=5)
def test_SelfAttention_v2_values(attempt):
    """Projections, weights and mixing, with the weights that are loaded."""
    attempt.SelfAttention_v2.agrees("values")


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
    """Exactly the weights of three nn.Linear, and their biases where asked for."""
    attempt.SelfAttention_v2.has_parameters("parameters")


@exercise("SelfAttention_v2", points=0.5, guard=True)
def test_SelfAttention_v2_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.SelfAttention_v2.keeps_inputs("values", "bias", "gradients")
