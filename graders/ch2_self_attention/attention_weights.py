"""Cases, checks and known mistakes of the exercise attention_weights."""

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import SENTENCE, TOKENS, WIDTH, Sizes, example_weights, one_after_another, scattered


def cases(pick):
    """Return cases with queries (…, n, d_k) and keys (…, m, d_k)."""
    weights = example_weights()
    queries, keys = SENTENCE @ weights["W_query"], SENTENCE @ weights["W_key"]
    draw = Sizes(pick, "attention_weights")
    n, m, d_k = draw(TOKENS, TOKENS, WIDTH)
    sizes = pick(public=[(6, 4), (4, 9)], hidden=[(6, 5), (7, 1), (n, d_k)])
    cross = pick(public=[(3, 5)], hidden=[(1, m), (4, 1)])
    leading = pick(public=[(2,)], hidden=[(3,), (2, 3), (1, 2, 1)])
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys)),
        *(case(f"values/{n} tokens, d_k {d_k}", compared(n, n, d_k)) for n, d_k in sizes),
        case("values/float32", compared(5, 5, 7), dtype=torch.float32),
        *(case(f"cross/{n} queries, {m} keys", compared(n, m, 3)) for n, m in cross),
        *(case(f"leading/{lead}", compared(4, 5, 6, lead)) for lead in leading),
        case("leading/large scores", call(queries=1e6 * normal(2, 4, 3), keys=normal(2, 5, 3))),
        case("large/1e6", call(queries=1e6 * normal(4, 3), keys=normal(5, 3))),
        case("values/one after another", *one_after_another(queries=(4, 3), keys=(4, 3))),
        case("gradients/4x3x5", compared(4, 3, 5, gradient=normal(4, 3))),
        case("gradients/batch", compared(4, 3, 5, (2,), gradient=normal(2, 4, 3))),
        case("same/scattered", *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3))),
    ]


def compared(n, m, d_k, lead=(), **settings):
    """Return a call on n queries and m keys, with leading dimensions."""
    return call(queries=2 * normal(*lead, n, d_k), keys=normal(*lead, m, d_k), **settings)


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(4, "Softmax of scaled scores, for every d_k.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1.5, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(1.5, "Leading dimensions stay in front.", it.agrees("leading")),
    check(1.5, "Gradients reach queries and keys.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values", "cross", "leading", "gradients"),
        it.gives_the_same("same"),
    ),
]
