"""Each step on its own line, with a name; softmax written by hand; projections like layers."""

import torch
import torch.nn.functional as F
from torch import nn


def project_qkv(x, W_query, W_key, W_value):
    queries = F.linear(x, W_query.T)
    keys = F.linear(x, W_key.T)
    values = F.linear(x, W_value.T)
    return queries, keys, values


def attention_weights(queries, keys):
    attn_scores = torch.matmul(queries, keys.mT)
    scaled_scores = attn_scores / keys.shape[-1] ** 0.5
    exponentials = torch.exp(scaled_scores - scaled_scores.amax(dim=-1, keepdim=True))
    totals = exponentials.sum(dim=-1, keepdim=True)
    return exponentials / totals


def scaled_dot_product_attention(queries, keys, values):
    scaled_scores = (queries / keys.shape[-1] ** 0.5) @ keys.transpose(-2, -1)
    exponentials = torch.exp(scaled_scores - scaled_scores.amax(dim=-1, keepdim=True))
    attn_weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return torch.matmul(attn_weights, values)


class SelfAttention_v1(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys = x @ self.W_key
        queries = x @ self.W_query
        values = x @ self.W_value
        attn_scores = queries @ keys.T
        scaled_scores = attn_scores / keys.shape[-1] ** 0.5
        attn_weights = torch.softmax(scaled_scores, dim=-1)
        context_vec = attn_weights @ values
        return context_vec


class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        keys = self.W_key(x)
        queries = self.W_query(x)
        values = self.W_value(x)
        attn_scores = queries @ keys.T
        scaled_scores = attn_scores / keys.shape[-1] ** 0.5
        attn_weights = torch.softmax(scaled_scores, dim=-1)
        context_vec = attn_weights @ values
        return context_vec
