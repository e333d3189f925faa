"""Exponentials after subtracting the maximum; products as matrices."""

import torch


def context_vector(query, inputs):
    attn_scores = inputs @ query
    exponentials = torch.exp(attn_scores - attn_scores.max())
    attn_weights = exponentials / exponentials.sum()
    return inputs.T @ attn_weights


def simplified_self_attention(inputs):
    attn_scores = inputs.matmul(inputs.transpose(0, 1))
    shifted = attn_scores - attn_scores.max(dim=-1, keepdim=True).values
    exponentials = torch.exp(shifted)
    attn_weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return attn_weights.matmul(inputs), attn_weights
