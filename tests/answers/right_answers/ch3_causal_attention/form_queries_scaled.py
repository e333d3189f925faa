"""Queries scaled before the product; an additive mask."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scaled_scores = (queries / queries.shape[-1] ** 0.5) @ keys.mT
        hides = torch.full((n, n), -torch.inf, dtype=x.dtype, device=x.device).triu(1)
        masked_scores = scaled_scores + hides
        attn_weights = self.dropout(torch.softmax(masked_scores, dim=-1))
        context_vec = attn_weights @ values
        return context_vec
