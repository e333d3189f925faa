"""F.scaled_dot_product_attention with its own dropout; one product of the three named weights."""

import torch
import torch.nn.functional as F
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1).bool())

    def forward(self, x):
        weight = torch.cat([self.W_query.weight, self.W_key.weight, self.W_value.weight])
        biases = [layer.bias for layer in (self.W_query, self.W_key, self.W_value)]
        bias = None if biases[0] is None else torch.cat(biases)
        q, k, v = F.linear(x, weight, bias).chunk(3, dim=-1)
        n = x.shape[1]
        p = self.p if self.training else 0.0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=~self.mask[:n, :n], dropout_p=p)
