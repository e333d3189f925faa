"""Softmax first, then the mask and renormalising: the road of chapter 3's second exercise."""

import math

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        assert d_out % num_heads == 0, "uneven heads"
        self.num_heads = num_heads
        self.out_proj = nn.Linear(d_out, d_out)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril())

    def forward(self, x):
        b, n, _ = x.shape
        parts = [w(x).reshape(b, n, self.num_heads, -1).swapaxes(1, 2) for w in (self.W_query, self.W_key, self.W_value)]
        queries, keys, values = parts
        weights = torch.softmax(queries @ keys.swapaxes(-2, -1) / math.sqrt(keys.shape[-1]), dim=-1)
        weights = weights * self.mask[:n, :n].to(weights.dtype)
        weights = self.dropout(weights / weights.sum(dim=-1, keepdim=True))
        return self.out_proj((weights @ values).swapaxes(1, 2).reshape(b, n, -1))
