"""Cases, checks and known mistakes of the exercise scaled_dot_product_attention."""

import math

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..modules import of_attention
from ..steps import (
    FEATURES,
    HEADS,
    SENTENCE,
    TOKENS,
    WIDTH,
    example_weights,
    one_after_another,
    scattered,
)
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with and without leading dimensions."""
    queries, keys, values = (SENTENCE @ matrix for matrix in example_weights().values())
    few = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * math.log(3)
    example = {"keys": few, "values": torch.tensor([[0.0, 1.0, 8.0], [1.0, 0.0, 4.0]])}
    shapes = {"queries": (4, 3), "keys": (4, 3), "values": (4, 3)}
    apart = {"queries": normal(2, 4, 3), "keys": normal(2, 5, 3), "values": normal(2, 5, 6)}
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys, values=values)),
        case("values/example", call(queries=torch.ones(1, 4), **example)),
        case("values/one after another", *one_after_another(**shapes)),
        *of_attention(draw, mixed),
        case("own/drawn", mixed(*draw(HEADS, TOKENS, FEATURES, WIDTH), watch=True)),
        case("same/scattered", *scattered(**apart)),
    ]


def mixed(n, m, d_k, d_v, lead=(), *, size=2.0, gradient=False, **settings):
    """Return a call on n queries, m keys and m values. size: the factor on the queries."""
    asked = {"gradient": normal(*lead, n, d_v)} if gradient else {}
    return call(
        queries=size * normal(*lead, n, d_k),
        keys=normal(*lead, m, d_k),
        values=normal(*lead, m, d_v),
        **asked | settings,
    )


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(2.5, "The values, mixed by the weights of each query.", it.agrees("values")),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(0.75, "Gradients reach queries, keys and values.", GRADIENTS),
    check(3, "The dimension of a batch stays in front.", it.agrees("batch")),
    check(0.5, "Scores of ten thousand do not overflow in a batch.", it.agrees("batch large")),
    check(1, "Gradients pass in a batch.", it.agrees("batch gradients", only="gradient")),
    check(0.25, "Several leading dimensions stay in front.", it.agrees("leading")),
    check(
        0.25,
        "It is written out and calls no attention of torch.",
        it.agrees("own"),
        it.avoids_attention("own"),
    ),
    check(0.25, UNCHANGED, it.keeps_inputs("values", "cross", "leading", "gradients"), SAME),
]
