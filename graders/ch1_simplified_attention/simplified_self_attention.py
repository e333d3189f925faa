"""Cases, checks and known mistakes of the exercise simplified_self_attention."""

import torch

from tensorgrade.author import call, case, check, computed, it, normal, shown

from ..steps import (
    FEATURES,
    MODERATE,
    SENTENCE,
    TOKENS,
    one_after_another,
    scattered,
    with_an_equal_row,
)
from ..usual import GRADIENTS, SAME, UNCHANGED


def cases(draw):
    """Return cases with inputs (n, d). Watched, more tokens must need no more operations."""
    size, (n, d) = draw(TOKENS, FEATURES), draw(MODERATE, MODERATE)
    gradient = (normal(n, d), normal(n, n))
    equal = computed(with_an_equal_row, normal(7, 5))
    example = torch.tensor(3.0).log().sqrt() * torch.tensor([[0.0], [1.0]])
    few = call(inputs=normal(3, 4), watch=True, result="few")
    many = call(inputs=normal(9, 4), watch=True, result="many")
    return [
        shown("sentence/all tokens", call(inputs=SENTENCE)),
        case("values/example", call(inputs=example)),
        *(case(f"values/{size}", call(inputs=normal(*size))) for size in [(5, 8), (1, 4), (4, 4)]),
        case("values/drawn", call(inputs=0.4 * normal(*size))),
        case("values/one after another", *one_after_another(inputs=(4, 3))),
        case("values/float32", call(inputs=equal), dtype=torch.float32),
        case("large/1e6", call(inputs=1000 * normal(n, 3))),
        case("gradients/drawn", call(inputs=0.4 * normal(n, d), gradient=gradient)),
        case("same/scattered", *scattered(inputs=normal(7, 5))),
        case("operations/growth", few, many, signature="growth"),
    ]


CHECKS = [
    check(
        0, "A context vector for each of the six tokens.", it.agrees("sentence", only="result.0")
    ),
    check(0, "Six rows of weights, each summing to 1.", it.agrees("sentence", only="result.1")),
    check(3.5, "One context vector for every token.", it.agrees("values", only="result.0")),
    check(
        3,
        "One row of weights for every token, each summing to 1.",
        it.agrees("values", only="result.1"),
        it.gives_no_more("values"),
    ),
    check(0.5, "Scores of ten thousand do not overflow.", it.agrees("large")),
    check(2, "Gradients reach the inputs, through the weights too.", GRADIENTS),
    check(0.5, UNCHANGED, it.keeps_inputs("values", "gradients"), SAME),
    check(
        0.5,
        "All tokens are computed at once: more tokens need no more operations.",
        it.does_not_grow("operations", "more tokens take more operations"),
    ),
]


MISTAKES = """
results_swapped: The two results are in the wrong order: return the context vectors first.
    return context_vecs, attn_weights -> return attn_weights, context_vecs
weights_not_returned: Only the context vectors are returned; return the weights too.
    return context_vecs, attn_weights -> return context_vecs
scores_returned: The scores are returned instead of the weights.
    return context_vecs, attn_weights -> return context_vecs, attn_scores
later_tokens_hidden: Later tokens are hidden, as a language model needs it. Here every token attends
  to all of them.
    softmax(attn_scores, -> softmax(attn_scores - torch.full_like(attn_scores, torch.inf).triu(1),
features_compared: The scores compare features with features instead of tokens with tokens.
    inputs @ inputs.T -> (inputs.T @ inputs)
    attn_weights @ inputs -> inputs @ attn_weights
loop_over_tokens: A Python loop runs over the tokens. One product gives all scores at once, one
  softmax all weights, and one more product all results.
    inputs @ inputs.T -> torch.stack([inputs @ row for row in inputs])
"""
