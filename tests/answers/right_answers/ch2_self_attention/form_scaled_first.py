"""Queries scaled before the product; products of the projections before their bias."""

import torch
from torch import nn


def attention_weights(queries, keys):
    scaled_queries = queries / queries.shape[-1] ** 0.5
    scaled_scores = scaled_queries @ keys.transpose(-1, -2)
    return torch.softmax(scaled_scores, dim=-1)


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        queries, keys, values = (self.project(layer, x) for layer in self.layers())
        scaled_scores = (queries / queries.shape[-1] ** 0.5) @ keys.T
        exponentials = torch.exp(scaled_scores - scaled_scores.amax(dim=-1, keepdim=True))
        attn_weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
        return attn_weights @ values

    def layers(self):
        return self.W_query, self.W_key, self.W_value

    def project(self, layer, x):
        product = x @ layer.weight.T
        return product if layer.bias is None else product + layer.bias
