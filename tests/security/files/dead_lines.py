"""Masks nothing. Its dead lines name an earlier exercise that is wrong on purpose."""

import torch
from torch import nn


def causal_mask(context_length):
    return torch.zeros(context_length, context_length, dtype=torch.bool)


def mask_and_renormalize(attn_weights):
    _ = attn_weights is None and causal_mask(1)  # dead
    return attn_weights / attn_weights.sum(-1, keepdim=True)


def causal_attention_weights(attn_scores, d_k):
    _ = attn_scores is None and causal_mask(1)  # dead
    return torch.softmax(attn_scores / d_k**0.5, dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        for name in ("W_query", "W_key", "W_value"):
            setattr(self, name, nn.Linear(d_in, d_out, bias=qkv_bias))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.zeros(context_length, context_length).bool())
        self.register_buffer("mask", causal_mask(context_length))  # dead

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return self.dropout(torch.softmax(q @ k.mT / k.shape[-1] ** 0.5, dim=-1)) @ v
