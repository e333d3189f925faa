"""Cases, checks and known mistakes of the exercise split_heads."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import BATCH, HEADS, MODERATE, TOKENS, counted, scattered, with_an_equal_row
from ..usual import ANY_DTYPE, GRADIENTS


def cases(draw):
    """Return cases with (b, n, d_out) and a number of heads."""
    b, n, heads = draw(BATCH, (10, 11), HEADS)
    tokens, many = draw(TOKENS, HEADS)
    few, width = draw(MODERATE, MODERATE)
    sizes = [(1, 2, 6, 1), (2, 3, 1, 1), (3, 1, 20, 4), (4, 4, 4, 2)]
    sizes += [(b, n, 9 * heads, heads), (1, tokens, many, many)]
    example = torch.tensor([[[11, 12, 13, 14], [21, 22, 23, 24]]])
    return [
        shown("sentence/2 heads", call(x=counted(1, 3, 4), num_heads=2)),
        *(
            case(f"values/{(*shape, heads)}", call(x=normal(*shape), num_heads=heads))
            for *shape, heads in sizes
        ),
        case(
            "values/float32, equal tokens",
            call(x=computed(with_an_equal_row, normal(2, 5, 12)), num_heads=3),
            dtype=torch.float32,
        ),
        case("whole numbers/example", call(x=example, num_heads=2)),
        case("whole numbers/drawn", call(x=counted(2, few, 5 * width).long(), num_heads=5)),
        case("same/scattered", *scattered(x=normal(2, 5, 12), num_heads=3)),
        case(
            "gradients/drawn",
            call(x=normal(2, few, 5 * width), num_heads=5, gradient=normal(2, 5, few, width)),
        ),
    ]


CHECKS = [
    check(0, "Three tokens of four features, for two heads.", it.agrees("sentence")),
    check(
        3.5,
        "(b, n, d_out) becomes (b, h, n, head_dim); each head is a block of features.",
        it.agrees("values"),
    ),
    check(1, "Gradients pass through.", GRADIENTS),
    check(0.5, *ANY_DTYPE),
]


MISTAKES = """
heads_and_features_swapped: The last two dimensions are swapped: they should be (tokens, features of
  a head).
    .transpose(1, 2) -> .permute(0, 2, 3, 1)
num_heads_taken_for_head_dim: num_heads is used as the width of a head.
    num_heads, head_dim) -> head_dim, num_heads)
heads_in_the_batch: Batch and heads are merged into one dimension; the result needs four dimensions.
    .transpose(1, 2) -> .transpose(1, 2).reshape(b * num_heads, num_tokens, head_dim)
split_in_reverse: The heads are in reverse order: head 0 gets the last block of features instead of
  the first.
    .transpose(1, 2) -> .transpose(1, 2).flip(1)
heads_last: The heads come last; they belong right after the batch.
    .transpose(1, 2) -> .transpose(2, 3)
"""
