"""Right answers that call attention_scores and softmax, which the engine provides."""

from typing import Any

attention_scores: Any = None
softmax: Any = None


def context_vector(query, inputs):
    attn_weights = softmax(x=attention_scores(query=query, inputs=inputs), dim=-1)
    return attn_weights @ inputs


def simplified_self_attention(inputs):
    attn_weights = softmax(x=inputs @ inputs.T, dim=-1)
    return attn_weights @ inputs, attn_weights
