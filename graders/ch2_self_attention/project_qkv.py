"""Cases, checks and known mistakes of the exercise project_qkv."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..modules import matrices
from ..steps import (
    FEATURES,
    MODERATE,
    QKV,
    SENTENCE,
    TOKENS,
    WIDTH,
    example_weights,
    one_after_another,
    scattered,
    with_an_equal_row,
)
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with inputs (n, d_in) and three matrices (d_in, d_out)."""
    n, d_in, d_out = draw(TOKENS, FEATURES, WIDTH)
    few = draw(MODERATE, MODERATE, MODERATE)
    example = torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]])
    x = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    equal = computed(with_an_equal_row, normal(7, 5))
    gradient = tuple(normal(few[0], few[2]) for _ in QKV)
    return [
        shown("sentence/seed 123", call(x=SENTENCE, **example_weights())),
        case("values/example", call(x=x, **dict(zip(QKV, example, strict=True)))),
        *(
            case(f"values/{size}", projected(*size))
            for size in [(5, 1, 7), (1, 5, 4), (4, 3, 1), (3, 3, 3)]
        ),
        case("values/drawn", projected(n, d_in, d_out)),
        case(
            "values/one after another",
            *one_after_another(x=(4, 3), W_query=(3, 2), W_key=(3, 2), W_value=(3, 2)),
        ),
        case("values/float32", call(x=equal, **matrices(5, 4)), dtype=torch.float32),
        case("gradients/drawn", projected(*few, gradient=gradient)),
        case("gradients/of matrices", projected(*few, gradient=gradient, constants=["x"])),
        case("same/scattered", *scattered(x=normal(4, 3), **matrices(3, 5))),
    ]


def projected(n, d_in, d_out, **settings):
    """Return a call on n tokens."""
    return call(x=normal(n, d_in), **matrices(d_in, d_out), **settings)


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
    check(1, "Gradients reach x and all three matrices.", GRADIENTS),
    check(0.5, UNCHANGED, it.keeps_inputs("values", "gradients"), SAME),
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
