"""Cases, checks and known mistakes of the exercise merge_heads."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import BATCH, HEADS, MODERATE, TOKENS, counted, scattered, with_an_equal_row
from ..usual import ANY_DTYPE, GRADIENTS


def cases(draw):
    """Return cases of shape (b, heads, n, head_dim)."""
    b, heads, n, width = draw(BATCH, HEADS, (10, 11), (8, 9))
    heads_of_one, many = draw(HEADS, TOKENS)
    small = (2, 3, *draw(MODERATE, MODERATE))
    shapes = [(1, 1, 4, 1), (2, 4, 1, 6), (3, 3, 3, 3)]
    shapes += [(b, heads, n, width), (1, heads_of_one, many, 1)]
    example = torch.tensor([[[[11, 12], [21, 22]], [[13, 14], [23, 24]]]])
    return [
        shown("sentence/2 heads", call(x=counted(1, 2, 3, 2))),
        *(case(f"values/{shape}", call(x=normal(*shape))) for shape in shapes),
        case(
            "values/float32, equal tokens",
            call(x=computed(with_an_equal_row, normal(2, 3, 5, 4))),
            dtype=torch.float32,
        ),
        case("whole numbers/example", call(x=example)),
        case("whole numbers/counted", call(x=counted(*small).long())),
        case("same/scattered", *scattered(x=normal(2, 5, 3, 4))),
        case("gradients/drawn", call(x=normal(*small), gradient=normal(2, small[2], 3 * small[3]))),
    ]


CHECKS = [
    check(0, "Two heads of three tokens, placed side by side.", it.agrees("sentence")),
    check(
        3.5,
        "(b, h, n, head_dim) becomes (b, n, h * head_dim), heads side by side.",
        it.agrees("values"),
    ),
    check(1, "Gradients pass through.", GRADIENTS),
    check(0.5, *ANY_DTYPE),
]


MISTAKES = """
merged_along_tokens: The heads are placed one after another along the tokens; they belong side by
  side in the features.
    .transpose(1, 2).reshape(b, num_tokens, num_heads * -> .reshape(b, num_heads * num_tokens,
merged_summed: The heads are added up. Each should keep its own part of the output.
    x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim) -> x.sum(dim=1)
merge_forgotten: Tokens and heads are swapped, but the heads are not joined: one dimension too many
  remains.
    x.transpose(1, 2).reshape(b, num_tokens, num_heads * head_dim) -> x.transpose(1, 2)
merged_last_two_swapped: The wrong two dimensions are swapped before the heads are joined.
    x.transpose(1, 2).reshape( -> x.transpose(2, 3).reshape(
merged_batch_too: The batch is flattened as well; it should stay the first dimension.
    .reshape(b, num_tokens, -> .reshape(b * num_tokens,
"""
