"""The mask comes first, and the masked scores are scaled."""

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
        queries_heads, keys_heads, values_heads = (
            layer(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
            for layer in (self.W_query, self.W_key, self.W_value)
        )
        attn_scores = queries_heads @ keys_heads.transpose(-2, -1)
        masked_scores = attn_scores.masked_fill(self.mask[:n, :n].bool(), -torch.inf)
        attn_weights = torch.softmax(masked_scores / self.head_dim**0.5, dim=-1)
        context_heads = self.dropout(attn_weights) @ values_heads
        context_merged = context_heads.transpose(1, 2).reshape(b, n, -1)
        return self.out_proj(context_merged)
