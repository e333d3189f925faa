"""Right answers that call project_qkv and scaled_dot_product_attention."""

from typing import Any

import torch
from torch import nn

scaled_dot_product_attention: Any = None
project_qkv: Any = None


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        weights = {"W_query": self.W_query, "W_key": self.W_key, "W_value": self.W_value}
        queries, keys, values = project_qkv(x=x, **weights)
        return scaled_dot_product_attention(queries=queries, keys=keys, values=values)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        return scaled_dot_product_attention(queries=queries, keys=keys, values=values)
