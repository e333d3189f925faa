"""addmm with a zero matrix, logsumexp instead of a softmax call."""

import math

import torch
from torch import nn


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        queries, keys, values = x @ self.W_query, x @ self.W_key, x @ self.W_value
        zero = torch.zeros(len(x), len(x), dtype=x.dtype)
        scores = torch.addmm(zero, queries, keys.t(), beta=0, alpha=1 / math.sqrt(keys.size(1)))
        return (scores - torch.logsumexp(scores, 1, keepdim=True)).exp().mm(values)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        zero = torch.zeros(len(x), len(x), dtype=x.dtype)
        scores = torch.addmm(zero, queries, keys.t(), beta=0, alpha=1 / math.sqrt(keys.size(1)))
        return (scores - torch.logsumexp(scores, 1, keepdim=True)).exp().mm(values)
