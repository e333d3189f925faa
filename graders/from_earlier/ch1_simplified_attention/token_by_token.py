"""A right answer that calls attention_scores for every token."""

from typing import Any

import torch

attention_scores: Any = None
softmax: Any = None


def simplified_self_attention(inputs):
    scores = torch.stack([attention_scores(query=query, inputs=inputs) for query in inputs])
    attn_weights = softmax(x=scores, dim=-1)
    return attn_weights @ inputs, attn_weights
