"""Cases, checks and known mistakes of the exercise mask_and_renormalize."""

import math

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import HEADS, SENTENCE, TOKENS, scattered, with_an_equal_row
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with weights of n tokens."""
    n, few = draw(TOKENS, HEADS)
    sentence = torch.softmax(SENTENCE @ SENTENCE.T, dim=-1)
    example = torch.tensor([[0.2, 0.3, 0.5]] * 3)
    return [
        shown("sentence/weights", call(attn_weights=sentence)),
        case("values/example", call(attn_weights=example)),
        *(case(f"values/{size}", call(attn_weights=rows_of_weights(size))) for size in (1, 5)),
        case("values/drawn", call(attn_weights=rows_of_weights(n))),
        case("values/float32", call(attn_weights=rows_of_weights(7)), dtype=torch.float32),
        case(
            "values/one after another",
            call(attn_weights=computed(with_an_equal_row, rows_of_weights(4)), result="first"),
            call(attn_weights=rows_of_weights(4), no_grad=True),
        ),
        case("same/scattered", *scattered(attn_weights=rows_of_weights(6))),
        case("gradients/drawn", call(attn_weights=rows_of_weights(few), gradient=normal(few, few))),
    ]


def rows_of_weights(n: int):
    """Return random rows that sum to 1 and are far from uniform."""
    return computed(far_from_even, normal(n, n))


def far_from_even(numbers: torch.Tensor) -> torch.Tensor:
    """Return rows that sum to 1.

    Each token gives itself a substantial part. So a small number, added to the remaining sum to
    prevent division by zero, does not count as wrong.
    """
    scores, n = 1.5 * numbers.clamp(-1, 1.5), len(numbers)
    return torch.softmax(scores + math.log(n) * torch.eye(n), dim=-1)


CHECKS = [
    check(0, "The weights of the sentence.", it.agrees("sentence")),
    check(7, "The future gets weight 0, and each row sums to 1 again.", it.agrees("values")),
    check(2, "Gradients reach the weights.", GRADIENTS),
    check(1, UNCHANGED, it.keeps_inputs("values"), SAME),
]

MISTAKES = """
wrong_side_filled 40%: The past and the token itself are hidden, and the future is visible. The
  hidden places belong above the diagonal.
    attn_weights * visible -> attn_weights.masked_fill(visible.bool(), 0.0)
renormalized_over_columns: The columns are normalised to a sum of 1 instead of the rows.
    masked.sum(dim=-1, keepdim=True) -> masked.sum(dim=-2, keepdim=True)
renormalized_over_everything: All entries together are normalised to a sum of 1; each row should be.
    masked.sum(dim=-1, keepdim=True) -> masked.sum()
renormalized_before_masking 40%: The sums are taken before masking, so they are already 1 and change
  nothing.
    masked.sum(dim=-1, keepdim=True) -> attn_weights.sum(dim=-1, keepdim=True)
softmax_again: A second softmax makes the rows sum to 1, but it also gives the hidden zeros some
  weight.
    masked / masked.sum(dim=-1, keepdim=True) -> torch.softmax(masked, dim=-1)
softmax_over_the_visible 40%: The visible weights go through a second softmax, which makes them
  almost equal. Divide them by their sum instead.
    - return masked / masked.sum(dim=-1, keepdim=True)
    + return torch.softmax(attn_weights.masked_fill(visible == 0, -torch.inf), dim=-1)
divided_by_number_visible: The rows are divided by how many tokens are visible; divide by what their
  weights add up to.
    masked.sum(dim=-1, keepdim=True) -> visible.sum(dim=-1, keepdim=True)
keepdim_forgotten_in_rows: The row sums lose their dimension and line up with the columns instead.
    masked.sum(dim=-1, keepdim=True) -> masked.sum(dim=-1)
renormalized_detached: No gradient flows back through the result.
    - return masked /
    + masked = masked.detach()
    + return masked /
"""
