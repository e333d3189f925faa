"""Cases, checks and known mistakes of the exercise attention_weights."""

import math

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..modules import of_attention
from ..steps import SENTENCE, example_weights, one_after_another, scattered
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with and without leading dimensions."""
    weights = example_weights()
    queries, keys = SENTENCE @ weights["W_query"], SENTENCE @ weights["W_key"]
    example = torch.stack([torch.zeros(4), torch.full((4,), 0.5)]) * math.log(3)
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys)),
        *of_attention(draw, compared),
        case("values/one after another", *one_after_another(queries=(4, 3), keys=(4, 3))),
        case("values/example", call(queries=torch.ones(1, 4), keys=example)),
        case("same/scattered", *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3))),
    ]


def compared(n, m, d_k, _, lead=(), *, size=2.0, gradient=False):
    """Return a call on n queries and m keys. size: the factor on the queries."""
    asked = {"gradient": normal(*lead, n, m)} if gradient else {}
    return call(queries=size * normal(*lead, n, d_k), keys=normal(*lead, m, d_k), **asked)


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(2.5, "Softmax of scaled scores, for every d_k.", it.agrees("values")),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(1, "Gradients reach queries and keys.", GRADIENTS),
    check(3, "The dimension of a batch stays in front.", it.agrees("batch")),
    check(0.5, "Scores of ten thousand do not overflow in a batch.", it.agrees("batch large")),
    check(1, "Gradients pass in a batch.", it.agrees("batch gradients", only="gradient")),
    check(0.25, "Several leading dimensions stay in front.", it.agrees("leading")),
    check(0.25, UNCHANGED, it.keeps_inputs("values", "cross", "leading", "gradients"), SAME),
]
