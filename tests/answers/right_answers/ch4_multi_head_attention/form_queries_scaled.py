"""Queries scaled before the product; an additive mask."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("num_heads must divide d_out")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        b, n, d_in = x.shape
        queries = self.W_query(x) / self.head_dim**0.5
        queries_heads, keys_heads, values_heads = (
            projected.unflatten(-1, (self.num_heads, self.head_dim)).permute(0, 2, 1, 3)
            for projected in (queries, self.W_key(x), self.W_value(x))
        )
        scaled_scores = queries_heads @ keys_heads.mT
        hides = torch.full((n, n), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        masked_scores = scaled_scores + hides
        attn_weights = self.dropout(torch.softmax(masked_scores, dim=-1))
        context_heads = attn_weights @ values_heads
        context_merged = context_heads.permute(0, 2, 1, 3).flatten(2)
        return self.out_proj(context_merged)
