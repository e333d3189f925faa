"""Keys permuted straight into their transposed place, torch.where, in-place division, F.dropout."""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.head_dim, rest = divmod(d_out, num_heads)
        if rest:
            raise ValueError(f"{d_out} is not a multiple of {num_heads}")
        self.num_heads, self.rate = num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.ones(1, 1, context_length, context_length).triu(1).bool())

    def forward(self, x):
        b, n, _ = x.shape
        q = self.W_query(x).unflatten(2, (self.num_heads, self.head_dim)).permute(0, 2, 1, 3)
        k = self.W_key(x).unflatten(2, (self.num_heads, self.head_dim)).permute(0, 2, 3, 1)
        v = self.W_value(x).unflatten(2, (self.num_heads, self.head_dim)).permute(0, 2, 1, 3)
        scores = torch.matmul(q, k)
        scores.div_(self.head_dim**0.5)
        scores = torch.where(self.mask[..., :n, :n], -torch.inf, scores)
        weights = F.dropout(scores.softmax(dim=-1), p=self.rate, training=self.training)
        context_vec = weights.matmul(v).permute(0, 2, 1, 3).contiguous()
        return self.out_proj(context_vec.view(b, n, self.num_heads * self.head_dim))
