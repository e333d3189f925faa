"""Right answers that call attention_scores and softmax_naive, which the engine binds."""

from typing import Any

attention_scores: Any = None
softmax_naive: Any = None


def context_vector(query, inputs):
    attn_weights = softmax_naive(x=attention_scores(query=query, inputs=inputs))
    return attn_weights @ inputs
