"""Exponentials by hand, multiplied by a 0/1 mask and renormalised: another road to the same weights."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        kwargs = dict(in_features=d_in, out_features=d_out, bias=qkv_bias)
        self.W_query = nn.Linear(**kwargs)
        self.W_key = nn.Linear(**kwargs)
        self.W_value = nn.Linear(**kwargs)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().unsqueeze(0))

    def forward(self, x):
        n = x.shape[1]
        scores = self.W_query(x) @ self.W_key(x).permute(0, 2, 1) * self.W_key.out_features**-0.5
        powers = (scores - scores.amax(-1, keepdim=True)).exp() * self.mask[:, :n, :n]
        weights = powers / powers.sum(-1, keepdim=True)
        return self.dropout(weights).matmul(self.W_value(x))
