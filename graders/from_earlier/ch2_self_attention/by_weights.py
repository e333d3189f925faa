"""Right answers that call project_qkv and attention_weights, which the engine provides."""

from typing import Any

import torch
from torch import nn

attention_weights: Any = None
project_qkv: Any = None


def scaled_dot_product_attention(queries, keys, values):
    return attention_weights(queries=queries, keys=keys) @ values


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        weights = {"W_query": self.W_query, "W_key": self.W_key, "W_value": self.W_value}
        queries, keys, values = project_qkv(x=x, **weights)
        return attention_weights(queries=queries, keys=keys) @ values


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        return attention_weights(queries=self.W_query(x), keys=self.W_key(x)) @ self.W_value(x)
