"""Right answers that call causal_mask and inverted_dropout."""

from typing import Any

import torch
from torch import nn

causal_mask: Any = None
inverted_dropout: Any = None


def mask_and_renormalize(attn_weights):
    hidden = causal_mask(context_length=attn_weights.shape[-1])
    masked = attn_weights.masked_fill(hidden, 0.0)
    return masked / masked.sum(dim=-1, keepdim=True)


def causal_attention_weights(attn_scores, d_k):
    hidden = causal_mask(context_length=attn_scores.shape[-1])
    return torch.softmax(attn_scores.masked_fill(hidden, -torch.inf) / d_k**0.5, dim=-1)


class CausalAttention(nn.Module):
    mask: torch.Tensor

    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", causal_mask(context_length=context_length))

    def forward(self, x):
        num_tokens = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.mT
        hidden = self.mask[:num_tokens, :num_tokens]
        attn_scores = attn_scores.masked_fill(hidden, -torch.inf)
        attn_weights = torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1)
        attn_weights = inverted_dropout(attn_weights=attn_weights, p=self.p, training=self.training)
        return attn_weights @ values
