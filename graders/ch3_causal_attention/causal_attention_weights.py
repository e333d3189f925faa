"""Cases, checks and known mistakes of the exercise causal_attention_weights."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import LONG, SENTENCE, TOKENS, Sizes, eighths, scattered, with_an_equal_row


def cases(pick):
    """Return cases with scores of n tokens and a width of the keys."""
    n, d_k = Sizes(pick, "causal_attention_weights")(TOKENS, LONG)
    sizes = pick(public=[(6, 3), (4, 9)], hidden=[(1, 5), (3, 8), (5, 2), (8, 16), (n, d_k)])
    zeros = computed(some_zero, normal(5, 5), normal(5, 5))
    return [
        shown("sentence/scores", call(attn_scores=SENTENCE @ SENTENCE.T, d_k=3)),
        *(
            case(f"values/{n} tokens, d_k {d_k}", call(attn_scores=3 * normal(n, n), d_k=d_k))
            for n, d_k in sizes
        ),
        case("values/float32", call(attn_scores=3 * normal(7, 7), d_k=5), dtype=torch.float32),
        # Scores so low that values in hidden places must be lower still.
        case("values/low scores", call(attn_scores=eighths(5, 5) - 3000, d_k=4)),
        # A score of 0 is an ordinary score and does not mean hidden.
        case("values/zero scores", call(attn_scores=zeros, d_k=3)),
        case(
            "values/one after another",
            call(attn_scores=computed(with_an_equal_row, normal(4, 4)), d_k=3, result="first"),
            call(attn_scores=normal(4, 4), d_k=3, no_grad=True),
        ),
        case("large/1e6", call(attn_scores=computed(begun_low, 1e6 * normal(9, 9)), d_k=3)),
        # Scores of the future that attract all weight: they must be hidden before the softmax.
        case("large/future", call(attn_scores=computed(raised, normal(6, 6)), d_k=3)),
        *(
            case(f"leading/{shape}", call(attn_scores=3 * normal(*shape, n, n), d_k=d_k))
            for *shape, n, d_k in pick(
                public=[(2, 4, 3), (2, 3, 5, 4)],
                hidden=[(3, 5, 2), (1, 5, 2), (2, 1, 3, 8), (4, 4, 7), (1, 2, 3, 4, 6)],
            )
        ),
        case("leading/low scores", call(attn_scores=eighths(2, 5, 5) - 3000, d_k=4)),
        case("leading/large scores", call(attn_scores=1e6 * normal(3, 4, 4), d_k=2)),
        case("same/scattered", *scattered(attn_scores=normal(6, 6), d_k=5)),
        *(
            case(
                f"gradients/{shape}",
                call(attn_scores=3 * normal(*shape), d_k=3, gradient=normal(*shape)),
            )
            for shape in [(4, 4), (2, 4, 4)]
        ),
    ]


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
        5,
        "Hidden scores are left out of the softmax; the others are scaled by sqrt(d_k).",
        it.agrees("values"),
        it.is_zero_where_expected("values"),
    ),
    check(
        1,
        "Leading dimensions stay in front: each table of scores is masked on its own.",
        it.agrees("leading"),
    ),
    check(
        1,
        "Scores of thousands do not overflow; large hidden scores leave weights for the others.",
        it.agrees("large"),
    ),
    check(2, "Gradients reach the scores.", it.agrees("gradients", only="gradient")),
    check(
        1,
        "The arguments stay unchanged, and need not be contiguous in memory.",
        it.keeps_inputs("values", "leading"),
        it.gives_the_same("same"),
    ),
]


MISTAKES = """
mask_as_long_as_the_first_dimension: The mask has the length of the first dimension. The tokens are
  always in the last two dimensions.
    - torch.triu(torch.ones_like(attn_scores), diagonal=1)
    + torch.triu(torch.ones(len(attn_scores), len(attn_scores)), diagonal=1)
softmax_over_dimension_1_of_scores: The softmax runs over dimension 1, which is the keys' dimension
  only if there are no leading dimensions. Counted from the end, the keys are always in the same
  place.
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
