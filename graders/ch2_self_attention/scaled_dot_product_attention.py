"""Cases, checks and known mistakes of the exercise scaled_dot_product_attention."""

import torch

from tensorgrade.author import call, case, check, it, normal, shown

from ..steps import (
    FEATURES,
    SENTENCE,
    TOKENS,
    WIDTH,
    Sizes,
    example_weights,
    one_after_another,
    scattered,
)


def cases(pick):
    """Return cases with queries (…, n, d_k), keys (…, m, d_k) and values (…, m, d_v)."""
    queries, keys, values = (SENTENCE @ matrix for matrix in example_weights().values())
    draw = Sizes(pick, "scaled_dot_product_attention")
    n, m, d_k, d_v = draw(TOKENS, TOKENS, WIDTH, FEATURES)
    sizes = pick(public=[(6, 4), (4, 9)], hidden=[(6, 5), (7, 1)])
    cross = pick(public=[(3, 5)], hidden=[(1, m), (4, 1)])
    leading = pick(public=[(2,)], hidden=[(3,), (1, 2, 1)])
    return [
        shown("sentence/seed 123", call(queries=queries, keys=keys, values=values)),
        *(case(f"values/{n} tokens, d_k {d_k}", mixed(n, n, d_k, d_k)) for n, d_k in sizes),
        case("values/d_v of its own", mixed(5, 5, 4, 7)),
        case("values/many tokens", mixed(n, n, d_k, d_v)),
        case("values/float32", mixed(5, 5, 7, 7), dtype=torch.float32),
        *(case(f"cross/{n} queries, {m} keys", mixed(n, m, 3, 3)) for n, m in cross),
        *(case(f"leading/{lead}", mixed(4, 5, 6, 3, lead)) for lead in leading),
        case(
            "large/1e6",
            call(queries=1e6 * normal(4, 3), keys=normal(5, 3), values=normal(5, 2)),
        ),
        case(
            "values/one after another",
            *one_after_another(queries=(4, 3), keys=(4, 3), values=(4, 3)),
        ),
        case("own/4x3x5", mixed(4, 3, 5, 6, watch=True)),
        case("gradients/4x3x5", mixed(4, 3, 5, 6, gradient=normal(4, 6))),
        case("gradients/batch", mixed(4, 3, 5, 6, (2,), gradient=normal(2, 4, 6))),
        case(
            "same/scattered",
            *scattered(queries=normal(2, 4, 3), keys=normal(2, 5, 3), values=normal(2, 5, 6)),
        ),
    ]


def mixed(n, m, d_k, d_v, lead=(), **settings):
    """Return a call on n queries, m keys and m values, with leading dimensions."""
    return call(
        queries=2 * normal(*lead, n, d_k),
        keys=normal(*lead, m, d_k),
        values=normal(*lead, m, d_v),
        **settings,
    )


CHECKS = [
    check(0, "With the sentence's projections (seed 123).", it.agrees("sentence")),
    check(4, "The values, mixed by the weights of each query.", it.agrees("values")),
    check(1, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(1.5, "The numbers of queries and keys may differ.", it.agrees("cross")),
    check(1.5, "Leading dimensions stay in front.", it.agrees("leading")),
    check(
        1.5, "Gradients reach queries, keys and values.", it.agrees("gradients", only="gradient")
    ),
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
