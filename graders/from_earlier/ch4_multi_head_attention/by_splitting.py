"""A right answer that calls split_heads and merge_heads, which the engine provides."""

from typing import Any

import torch
from torch import nn

split_heads: Any = None
merge_heads: Any = None


class MultiHeadAttention(nn.Module):
    mask: torch.Tensor

    def __init__(self, d_in, d_out, context_length, dropout=0.0, num_heads=1, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        num_tokens = x.shape[1]
        projected = (layer(x) for layer in (self.W_query, self.W_key, self.W_value))
        queries, keys, values = (split_heads(x=p, num_heads=self.num_heads) for p in projected)
        hidden = self.mask[:num_tokens, :num_tokens]
        attn_scores = (queries @ keys.mT).masked_fill(hidden, -torch.inf)
        attn_weights = self.dropout(torch.softmax(attn_scores / keys.shape[-1] ** 0.5, dim=-1))
        return self.out_proj(merge_heads(x=attn_weights @ values))
