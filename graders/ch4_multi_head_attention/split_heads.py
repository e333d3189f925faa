"""Cases, checks and known mistakes of the exercise split_heads."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import BATCH, HEADS, TOKENS, Sizes, counted, scattered, with_an_equal_row


def cases(pick):
    """Return cases with (b, n, d_out) and a number of heads."""
    draw = Sizes(pick, "split_heads")
    b, n, heads, many = draw(BATCH, TOKENS, HEADS, (10, 13))
    sizes = pick(
        public=[(2, 3, 4, 2), (1, 5, 6, 3)],
        hidden=[
            (1, 2, 6, 1),
            (2, 3, 1, 1),
            (3, 4, 8, 2),
            (2, 1, 12, 4),
            (2, 3, 3, 3),
            (4, 4, 4, 2),
            (b, 3, 3 * heads, heads),
            (2, n, 2 * many, many),
        ],
    )
    return [
        shown("sentence/2 heads", call(x=counted(1, 3, 4), num_heads=2)),
        *(
            case(f"values/{(*shape, heads)}", call(x=normal(*shape), num_heads=heads))
            for *shape, heads in sizes
        ),
        *(
            case(
                "values/float32, equal tokens",
                call(x=computed(with_an_equal_row, normal(*shape)), num_heads=2),
                dtype=torch.float32,
            )
            for shape in pick(public=[], hidden=[(2, 5, 40)])
        ),
        case("whole numbers/counted", call(x=counted(2, 3, 4).long(), num_heads=2)),
        case("same/scattered", *scattered(x=normal(2, 3, 6), num_heads=2)),
        case("gradients/3", call(x=normal(2, 3, 6), num_heads=2, gradient=normal(2, 2, 3, 3))),
    ]


CHECKS = [
    check(0, "Three tokens of four features, for two heads.", it.agrees("sentence")),
    check(
        3.5,
        "(b, n, d_out) becomes (b, h, n, head_dim); each head is a block of features.",
        it.agrees("values"),
    ),
    check(1, "Gradients pass through.", it.agrees("gradients", only="gradient")),
    check(
        0.5,
        "x stays unchanged; it may have any dtype, and need not be contiguous in memory.",
        it.keeps_inputs("values"),
        it.agrees("whole numbers"),
        it.keeps_dtype("whole numbers"),
        it.gives_the_same("same"),
    ),
]


MISTAKES = """
heads_and_features_swapped: The last two dimensions are swapped: they should be (tokens, features of
  a head).
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_tokens, num_heads, head_dim).permute(0, 2, 3, 1)
num_heads_taken_for_head_dim: num_heads is used as the width of a head.
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_tokens, head_dim, num_heads).transpose(1, 2)
heads_in_the_batch: Batch and heads are merged into one dimension; the result needs four dimensions.
    - .transpose(1, 2)
    + .transpose(1, 2).reshape(b * num_heads, num_tokens, head_dim)
split_in_reverse: The heads are in reverse order: head 0 gets the last block of features instead of
  the first.
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.transpose(1, 2).reshape(b, num_heads, head_dim, num_tokens).transpose(2, 3).flip(1)
heads_last: The heads come last; they belong right after the batch.
    - x.reshape(b, num_tokens, num_heads, head_dim).transpose(1, 2)
    + x.reshape(b, num_tokens, num_heads, head_dim).transpose(2, 3)
"""
