"""Cases, checks and known mistakes of the exercise project_qkv."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..modules import matrices
from ..steps import (
    FEATURES,
    QKV,
    SENTENCE,
    TOKENS,
    WIDTH,
    Sizes,
    example_weights,
    one_after_another,
    scattered,
    with_an_equal_row,
)


def cases(pick):
    """Return cases with inputs (n, d_in) and three matrices (d_in, d_out)."""
    big = Sizes(pick, "project_qkv")(TOKENS, FEATURES, WIDTH)
    sizes = pick(
        public=[(6, 3, 2), (4, 5, 6)],
        hidden=[(5, 1, 7), (3, 8, 8), (1, 5, 4), (4, 3, 1)],
    )
    gradient = tuple(normal(4, 2) for _ in QKV)
    return [
        shown("sentence/seed 123", call(x=SENTENCE, **example_weights())),
        *(case(f"values/{size}", projected(*size)) for size in sizes),
        case("values/many tokens", projected(*big)),
        case(
            "values/one after another",
            *one_after_another(x=(4, 3), W_query=(3, 2), W_key=(3, 2), W_value=(3, 2)),
        ),
        case("values/square", projected(3, 3, 3)),
        case("values/float32", projected(7, 5, 4), dtype=torch.float32),
        *(
            case("values/equal tokens", projected(*size, change=with_an_equal_row))
            for size in pick(public=[], hidden=[(5, 3, 4)])
        ),
        case("gradients/4x3x2", projected(4, 3, 2, gradient=gradient)),
        case("gradients/of matrices", projected(4, 3, 2, gradient=gradient, constants=["x"])),
        case("same/scattered", *scattered(x=normal(4, 3), **matrices(3, 5))),
    ]


def projected(n, d_in, d_out, *, change=torch.clone, **settings):
    """Return a call on n tokens, after `change`."""
    x = computed(change, normal(n, d_in))
    return call(x=x, **matrices(d_in, d_out), **settings)


CHECKS = [
    check(0, "Queries, keys and values of the sentence (seed 123).", it.agrees("sentence")),
    check(1, "Queries come first: x times W_query.", it.agrees("values", only="result.0")),
    check(1, "Keys come second: x times W_key.", it.agrees("values", only="result.1")),
    check(
        1.5,
        "Values come third: x times W_value.",
        it.agrees("values", only="result.2"),
        it.gives_no_more("values"),
    ),
    check(1, "Gradients reach x and all three matrices.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values", "gradients"),
        it.gives_the_same("same"),
    ),
]

MISTAKES = """
projections_in_another_order: Queries and keys are swapped, in what is returned or in the matrices
  that they are made with.
    return queries, keys, values -> return keys, queries, values
values_first: Queries and values are swapped, in what is returned or in the matrices that they are
  made with.
    return queries, keys, values -> return values, keys, queries
keys_and_values_exchanged: Keys and values are swapped; the order should be queries, keys, values.
    return queries, keys, values -> return queries, values, keys
one_matrix_for_all: One matrix is used for all three; each role should have its own.
    x @ W_key -> x @ W_query
    x @ W_value -> x @ W_query
keys_from_W_query: Queries and keys come from the same matrix.
    x @ W_key -> x @ W_query
values_from_W_key: Values and keys come from the same matrix.
    x @ W_value -> x @ W_key
matrix_on_the_left: The matrix is on the left of x. The rows of x are tokens, so x belongs on the
  left.
    x @ W_query -> W_query @ x
    x @ W_key -> W_key @ x
    x @ W_value -> W_value @ x
matrix_transposed: The matrices are transposed; here they already have the shape (d_in, d_out) and
  need no transpose.
    x @ W_query -> x @ W_query.T
    x @ W_key -> x @ W_key.T
    x @ W_value -> x @ W_value.T
queries_scaled_already 30%: The queries are scaled here. Leave them as they are: the scores are
  scaled later.
    x @ W_query -> x @ W_query / W_query.shape[-1] ** 0.5
projections_detached: No gradient flows back through the results, so the matrices cannot learn.
    return queries, keys, values -> return queries.detach(), keys.detach(), values.detach()
projections_stacked: One tensor is returned instead of a tuple of three tensors.
    return queries, keys, values -> return torch.cat((queries, keys, values), dim=-1)
"""
