"""All that judges causal_attention_weights: its cases, tests and own mistakes."""

import torch

from tensorgrade import exercise, for_learners
from tensorgrade.author import call, case, computed, normal, shown

from ..shared import SENTENCE


def cases(pick):
    """Scores of n tokens, and a width of the keys."""
    sizes = pick(public=[(6, 3), (4, 9)], hidden=[(2, 5), (3, 8), (5, 2), (8, 16), (12, 7)])
    zeros = computed(some_zero, normal(5, 5), normal(5, 5))
    return [
        shown("sentence/scores", call(attn_scores=SENTENCE @ SENTENCE.T, d_k=3)),
        *(
            case(f"values/{n} tokens, d_k {d_k}", call(attn_scores=3 * normal(n, n), d_k=d_k))
            for n, d_k in sizes
        ),
        case("values/float32", call(attn_scores=3 * normal(7, 7), d_k=5), dtype=torch.float32),
        # Scores so low that whatever stands in the hidden places must be lower still.
        case("values/low scores", call(attn_scores=3 * normal(5, 5) - 400, d_k=3)),
        # A score of 0 is a score like any other, not a sign that it is hidden.
        case("values/zero scores", call(attn_scores=zeros, d_k=3)),
        case("gradients/4", call(attn_scores=3 * normal(4, 4), d_k=3, gradient=normal(4, 4))),
    ]


def some_zero(scores: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Scores with 0 wherever the others are negative."""
    return scores * (others > 0)


@for_learners("causal_attention_weights")
def test_causal_attention_weights_on_the_sentence(attempt):
    """The scores of the sentence."""
    attempt.causal_attention_weights.agrees("sentence")


@exercise("causal_attention_weights", points=7)
def test_causal_attention_weights_values(attempt):
    """Hidden scores drop out of the softmax; the rest is scaled by sqrt(d_k)."""
    attempt.causal_attention_weights.agrees("values")


@exercise("causal_attention_weights", points=2)
def test_causal_attention_weights_gradients(attempt):
    """Gradients reach the scores."""
    attempt.causal_attention_weights.agrees("gradients", only="gradient")


@exercise("causal_attention_weights", points=1)
def test_causal_attention_weights_inputs(attempt):
    """What is passed in stays as it was."""
    attempt.causal_attention_weights.keeps_inputs("values")
