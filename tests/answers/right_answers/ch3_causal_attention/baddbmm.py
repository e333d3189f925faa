"""baddbmm adds an additive mask and scales in one call; addition of a masked score matrix."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=qkv_bias) for _ in "qkv")
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("mask", torch.full((context_length, context_length), -torch.inf).triu(1))

    def forward(self, x):
        n = x.shape[-2]
        queries, keys, values = map(lambda layer: layer(x), (self.W_query, self.W_key, self.W_value))
        additive = self.mask[:n, :n].expand(len(x), n, n)
        scores = torch.baddbmm(additive, queries, keys.transpose(-1, -2), alpha=keys.shape[-1] ** -0.5)
        return torch.bmm(self.dropout(scores.softmax(-1)), values)
