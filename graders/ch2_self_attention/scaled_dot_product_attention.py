"""Cases, checks and known mistakes of the exercise scaled_dot_product_attention."""

import math

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import (
    BATCH,
    FEATURES,
    HEADS,
    SENTENCE,
    TOKENS,
    WIDTH,
    example_weights,
    one_after_another,
    scattered,
)


def cases(draw):
    """Return cases with queries (…, n, d_k), keys (…, m, d_k) and values (…, m, d_v)."""
    queries, keys, values = (SENTENCE @ matrix for matrix in example_weights().values())
    b, tokens, n, d_k, m, d_v = draw(BATCH, TOKENS, FEATURES, WIDTH, HEADS, WIDTH)
    few = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * math.log(3)
    example = {"keys": few, "values": torch.tensor([[0.0, 1.0, 8.0], [1.0, 0.0, 4.0]])}
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys, values=values)),
        case("values/example", call(queries=torch.ones(1, 4), **example)),
        case("values/7 tokens, d_k 1", mixed(7, 7, 1, 1)),
        case("values/d_v of its own", mixed(5, 5, 4, 7)),
        case("values/drawn", mixed(tokens, tokens, d_k, d_v)),
        case("values/float32", mixed(5, 5, 7, 7), dtype=torch.float32),
        case(
            "values/one after another",
            *one_after_another(queries=(4, 3), keys=(4, 3), values=(4, 3)),
        ),
        *(case(f"cross/{n} queries, {m} keys", mixed(n, m, 3, 3)) for n, m in [(1, 5), (4, 1)]),
        case("cross/drawn", mixed(n, m, d_k, d_v)),
        case("batch/of two", mixed(4, 5, 6, 3, (2,))),
        case("batch/drawn", mixed(n, m, d_k, d_v, (b,))),
        case("leading/of one", mixed(4, 5, 6, 3, (1, 2, 1))),
        case("leading/drawn", mixed(n, m, d_k, d_v, (1, b))),
        case("large/1e6", mixed(n, m, d_k, d_v, size=1e6)),
        case("gradients/drawn", mixed(n, m, d_k, d_v, gradient=normal(n, d_v))),
        case("own/drawn", mixed(n, m, d_k, d_v, watch=True)),
        case("batch large/1e6", mixed(n, m, d_k, d_v, (b,), size=1e6)),
        case("batch gradients/drawn", mixed(n, m, d_k, d_v, (b,), gradient=normal(b, n, d_v))),
        case(
            "same/scattered",
            *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3), values=normal(2, 5, 6)),
        ),
    ]


def mixed(n, m, d_k, d_v, lead=(), size=2.0, **settings):
    """Return a call on n queries, m keys and m values. size: the factor on the queries."""
    return call(
        queries=size * normal(*lead, n, d_k),
        keys=normal(*lead, m, d_k),
        values=normal(*lead, m, d_v),
        **settings,
    )


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(2.5, "The values, mixed by the weights of each query.", it.agrees("values")),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(
        0.75, "Gradients reach queries, keys and values.", it.agrees("gradients", only="gradient")
    ),
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
    check(
        0.25,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values", "cross", "leading", "gradients"),
        it.gives_the_same("same"),
    ),
]
