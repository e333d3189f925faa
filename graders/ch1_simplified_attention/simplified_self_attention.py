"""Cases, tests and known mistakes of the exercise simplified_self_attention."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, computed, normal, shown

from ..relations import one_after_another, scattered, with_an_equal_row
from ..shared import SENTENCE
from ..sizes import FEATURES, TOKENS, Sizes


def cases(pick):
    """Return cases with inputs (n, d). Watched, more tokens must need no more operations."""
    sizes = pick(public=[(6, 3), (4, 5)], hidden=[(5, 8), (9, 1), (4, 4)])
    draw = Sizes(pick, "simplified_self_attention")
    n, d = draw(TOKENS, FEATURES)
    twice = pick(public=[], hidden=[computed(with_an_equal_row, normal(5, 4))])
    few = call(inputs=normal(3, 4), watch=True, result="few")
    many = call(inputs=normal(9, 4), watch=True, result="many")
    return [
        shown("sentence/all tokens", call(inputs=SENTENCE)),
        *(case(f"values/{n}x{d}", call(inputs=normal(n, d))) for n, d in sizes),
        case("values/many tokens", call(inputs=0.4 * normal(n, d))),
        case("values/one after another", *one_after_another(inputs=(4, 3))),
        case("large/1e6", call(inputs=1000 * normal(12, 3))),
        *(case("values/equal tokens", call(inputs=equal)) for equal in twice),
        case("values/one token", call(inputs=normal(1, 4))),
        case("values/float32", call(inputs=normal(7, 5)), dtype=torch.float32),
        case("gradients/5x3", call(inputs=normal(5, 3), gradient=(normal(5, 3), normal(5, 5)))),
        case("same/scattered", *scattered(inputs=normal(7, 5))),
        case("operations/growth", few, many, signature="growth"),
    ]


@for_learners("simplified_self_attention")
def test_simplified_self_attention_context_on_the_sentence(attempt):
    """A context vector for each of the six tokens."""
    attempt.simplified_self_attention.agrees("sentence", only="result.0")


@for_learners("simplified_self_attention")
def test_simplified_self_attention_weights_on_the_sentence(attempt):
    """Six rows of weights, each summing to 1."""
    attempt.simplified_self_attention.agrees("sentence", only="result.1")


@exercise("simplified_self_attention", points=3.5)
def test_simplified_self_attention_context(attempt):
    """One context vector for every token."""
    attempt.simplified_self_attention.agrees("values", only="result.0")


@exercise("simplified_self_attention", points=3)
def test_simplified_self_attention_weights(attempt):
    """One row of weights for every token, each summing to 1."""
    attempt.simplified_self_attention.agrees("values", only="result.1")
    attempt.simplified_self_attention.gives_no_more("values")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_large_scores(attempt):
    """Scores of ten thousand do not overflow."""
    attempt.simplified_self_attention.agrees("large")


@exercise("simplified_self_attention", points=2)
def test_simplified_self_attention_gradients(attempt):
    """Gradients reach the inputs, through the weights too."""
    attempt.simplified_self_attention.agrees("gradients", only="gradient")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_inputs(attempt):
    """The arguments stay unchanged, and need not be contiguous in memory."""
    attempt.simplified_self_attention.keeps_inputs("values", "gradients")
    attempt.simplified_self_attention.gives_the_same("same")


@exercise("simplified_self_attention", points=0.5)
def test_simplified_self_attention_has_no_loop(attempt):
    """All tokens are computed at once: more tokens need no more operations."""
    attempt.simplified_self_attention.does_not_grow(
        "operations", "more tokens take more operations"
    )


MISTAKES = """
results_swapped: The two results are in the wrong order: return the context vectors first.
    return context_vecs, attn_weights -> return attn_weights, context_vecs
weights_not_returned: Only the context vectors are returned; return the weights too.
    return context_vecs, attn_weights -> return context_vecs
scores_returned: The scores are returned instead of the weights.
    return context_vecs, attn_weights -> return context_vecs, attn_scores
later_tokens_hidden: Later tokens are hidden, as a language model needs it. Here every token attends
  to all of them.
    - torch.softmax(attn_scores, dim=-1)
    + torch.softmax(attn_scores - torch.full_like(attn_scores, torch.inf).triu(1), dim=-1)
features_compared: The scores compare features with features instead of tokens with tokens.
    inputs @ inputs.T -> (inputs.T @ inputs)
    attn_weights @ inputs -> inputs @ attn_weights
loop_over_tokens: A Python loop runs over the tokens. One product gives all scores at once, one
  softmax all weights, and one more product all results.
    inputs @ inputs.T -> torch.stack([inputs @ row for row in inputs])
"""
