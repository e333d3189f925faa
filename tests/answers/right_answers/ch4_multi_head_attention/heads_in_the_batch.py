"""Heads folded into the batch, baddbmm with the mask, `-1e9`, an extra argument with a default."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False, name="mha"):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError(f"{d_out} features cannot be shared out among {num_heads} heads")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", -1e9 * torch.ones(context_length, context_length).triu(1))

    def fold(self, x):
        b, n, _ = x.shape
        return x.view(b, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3).reshape(-1, n, self.head_dim)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.fold(self.W_query(x)), self.fold(self.W_key(x)), self.fold(self.W_value(x))
        mask = self.mask[:n, :n].expand(len(q), n, n)
        weights = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / self.head_dim**0.5).softmax(-1)
        context = torch.bmm(self.dropout(weights), v).view(b, self.num_heads, n, self.head_dim)
        return self.out_proj(context.permute(0, 2, 1, 3).flatten(2))
