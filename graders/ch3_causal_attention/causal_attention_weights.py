"""Cases, checks and known mistakes of the exercise causal_attention_weights."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import (
    BATCH,
    FEATURES,
    LONG,
    MODERATE,
    SENTENCE,
    TOKENS,
    eighths,
    scattered,
    with_an_equal_row,
)
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with scores of n tokens and a width of the keys."""
    many, d_k, b, n = draw(TOKENS, LONG, BATCH, FEATURES)
    (few,) = draw(MODERATE)
    example = torch.tensor([[1.0, 9.0], [2.1972, 0.0]])
    zeros = computed(some_zero, normal(5, 5), normal(5, 5))
    return [
        shown("sentence/scores", called(SENTENCE @ SENTENCE.T, 3)),
        case("values/example", called(example, 4)),
        *(case(f"values/{n}", called(3 * normal(n, n), d_k)) for n, d_k in [(1, 5), (3, 8)]),
        case("values/drawn", called(3 * normal(many, many), d_k)),
        case("values/float32", called(3 * normal(7, 7), 5), dtype=torch.float32),
        # Scores so low that values in hidden places must be lower still.
        case("values/low scores", called(eighths(5, 5) - 3000, 4)),
        # A score of 0 is an ordinary score and does not mean hidden.
        case("values/zero scores", called(zeros, 3)),
        case(
            "values/one after another",
            called(computed(with_an_equal_row, normal(4, 4)), 3, result="first"),
            called(normal(4, 4), 3, no_grad=True),
        ),
        *(case(f"batch/{b}", called(3 * normal(b, 5, 5), 3)) for b in (1, 4)),
        case("batch/drawn", called(3 * normal(b, n, n), few)),
        case("batch/low scores", called(eighths(2, 5, 5) - 3000, 4)),
        *(
            case(f"leading/{lead}", called(3 * normal(*lead, 4, 4), 6))
            for lead in [(2, 1), (1, 2, 3)]
        ),
        case("leading/drawn", called(3 * normal(2, b, n, n), few)),
        case("large/1e6", called(computed(begun_low, 1e6 * eighths(n, n)), few)),
        # Scores of the future that attract all weight: they must be hidden before the softmax.
        case("large/future", called(computed(raised, normal(6, 6)), 3)),
        case("batch large/1e6", called(1e6 * eighths(b, n, n), few)),
        case("gradients/drawn", called(3 * normal(many, many), d_k, gradient=normal(many, many))),
        case("batch gradients/drawn", called(3 * normal(b, n, n), few, gradient=normal(b, n, n))),
        case("same/scattered", *scattered(attn_scores=normal(6, 6), d_k=5)),
    ]


def called(attn_scores, d_k, **settings):
    """Return a call on these scores."""
    return call(attn_scores=attn_scores, d_k=d_k, **settings)


def begun_low(scores: torch.Tensor) -> torch.Tensor:
    """Return scores whose first one, the only one visible to the first token, is below zero."""
    scores[0, 0] = -scores[0, 0].abs()
    return scores


def raised(scores: torch.Tensor) -> torch.Tensor:
    """Return scores that are higher by thousands above the diagonal."""
    return scores + 5e3 * torch.ones_like(scores).triu(1)


def some_zero(scores: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Return scores with 0 in each place where the others are negative."""
    return scores * (others > 0)


CHECKS = [
    check(0, "The scores of the sentence.", it.agrees("sentence")),
    check(
        3.5,
        "Hidden scores are left out of the softmax; the others are scaled by sqrt(d_k).",
        it.agrees("values"),
        it.is_zero_where_expected("values"),
    ),
    check(3, "In a batch, each table of scores is masked on its own.", it.agrees("batch")),
    check(0.25, "Several leading dimensions stay in front.", it.agrees("leading")),
    check(
        0.5,
        "Scores of thousands do not overflow; large hidden scores leave weights for the others.",
        it.agrees("large"),
    ),
    check(0.5, "Scores of thousands do not overflow in a batch.", it.agrees("batch large")),
    check(1, "Gradients reach the scores.", GRADIENTS),
    check(1, "Gradients pass in a batch.", it.agrees("batch gradients", only="gradient")),
    check(0.25, UNCHANGED, it.keeps_inputs("values", "batch", "leading"), SAME),
]


MISTAKES = """
mask_as_long_as_the_first_dimension: The mask has the length of the first dimension. The tokens are
  always in the last two dimensions.
    torch.ones_like(attn_scores) -> torch.ones(len(attn_scores), len(attn_scores))
softmax_over_dimension_1_of_scores 40%: The softmax runs over dimension 1, which is the keys'
  dimension only if there are no leading dimensions. Counted from the end, the keys are always in
  the same place.
    , dim=-1) -> , dim=1)
no_maximum_before_the_exponential: The exponentials use unshifted scores: large scores overflow, and
  if all are far below 0, 0 is divided by 0. Subtract each row's maximum first, or call
  torch.softmax.
    - return torch.softmax(masked_scores / d_k**0.5, dim=-1)
    + exponentials = torch.exp(masked_scores / d_k**0.5)
    + return exponentials / exponentials.sum(dim=-1, keepdim=True)
no_maximum_and_masked_afterwards: The exponentials use unshifted scores, hidden ones included: large
  scores overflow. Hide the future and subtract each row's maximum first, or call torch.softmax.
    - return torch.softmax(masked_scores / d_k**0.5, dim=-1)
    + exponentials = torch.exp(attn_scores / d_k**0.5) * ~future
    + return exponentials / exponentials.sum(dim=-1, keepdim=True)
"""
