"""Cases, checks and known mistakes of the exercise attention_weights."""

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
    """Return cases with queries (…, n, d_k) and keys (…, m, d_k)."""
    weights = example_weights()
    queries, keys = SENTENCE @ weights["W_query"], SENTENCE @ weights["W_key"]
    b, tokens, n, d_k, m = draw(BATCH, TOKENS, FEATURES, WIDTH, HEADS)
    example = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * math.log(3)
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys)),
        case("values/example", call(queries=torch.ones(1, 4), keys=example)),
        case("values/7 tokens, d_k 1", compared(7, 7, 1)),
        case("values/drawn", compared(tokens, tokens, d_k)),
        case("values/float32", compared(5, 5, 7), dtype=torch.float32),
        case("values/one after another", *one_after_another(queries=(4, 3), keys=(4, 3))),
        *(case(f"cross/{n} queries, {m} keys", compared(n, m, 3)) for n, m in [(1, 5), (4, 1)]),
        case("cross/drawn", compared(n, m, d_k)),
        case("batch/of two", compared(4, 5, 6, (2,))),
        case("batch/drawn", compared(n, m, d_k, (b,))),
        *(case(f"leading/{lead}", compared(4, 5, 7, lead)) for lead in [(2, 3), (1, 2, 1)]),
        case("leading/drawn", compared(n, m, d_k, (1, b))),
        case("large/1e6", compared(n, m, d_k, size=1e6)),
        case("gradients/drawn", compared(n, m, d_k, gradient=normal(n, m))),
        case("batch large/1e6", compared(n, m, d_k, (b,), size=1e6)),
        case("batch gradients/drawn", compared(n, m, d_k, (b,), gradient=normal(b, n, m))),
        case("same/scattered", *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3))),
    ]


def compared(n, m, d_k, lead=(), size=2.0, **settings):
    """Return a call on n queries and m keys, with leading dimensions. size: of the queries."""
    return call(queries=size * normal(*lead, n, d_k), keys=normal(*lead, m, d_k), **settings)


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(2.5, "Softmax of scaled scores, for every d_k.", it.agrees("values")),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(1, "Gradients reach queries and keys.", it.agrees("gradients", only="gradient")),
    check(3, "The dimension of a batch stays in front.", it.agrees("batch")),
    check(0.5, "Scores of ten thousand do not overflow in a batch.", it.agrees("batch large")),
    check(1, "Gradients pass in a batch.", it.agrees("batch gradients", only="gradient")),
    check(0.25, "Several leading dimensions stay in front.", it.agrees("leading")),
    check(
        0.25,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values", "cross", "leading", "gradients"),
        it.gives_the_same("same"),
    ),
]
