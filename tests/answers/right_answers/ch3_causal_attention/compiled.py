"""Functions that ask to be compiled, and dropout drawn in other ways."""

import torch


@torch.compile
def mask_and_renormalize(attn_weights):
    kept = attn_weights.tril()
    return kept / kept.sum(-1, keepdim=True)


@torch.compile(dynamic=True)
def causal_attention_weights(attn_scores, d_k):
    hidden = torch.ones_like(attn_scores, dtype=torch.bool).triu(1)
    return (attn_scores / d_k**0.5).masked_fill(hidden, -1e9).softmax(-1)


def inverted_dropout(attn_weights, p, training=True):
    if not training or p == 0:
        return attn_weights.clone()
    kept = torch.bernoulli(torch.full_like(attn_weights, 1 - p))
    return attn_weights.mul(kept).div(1 - p)
