"""In-place filling, einsum, baddbmm, a registered buffer of another dtype, an extra argument."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def causal_mask(context_length: int):
    return ~torch.ones(context_length, context_length, dtype=torch.bool).tril_()


def mask_and_renormalize(weights):
    out = weights.clone()
    n = out.shape[-1]
    for i in range(n):
        out[..., i, i + 1 :] = 0
    return out / (out.sum(-1, keepdim=True) + 1e-9)


def causal_attention_weights(scores, d_k):
    scores = scores.clone()
    scores.masked_fill_(torch.ones_like(scores).triu(1) == 1, float("-inf"))
    return F.softmax(scores / math.sqrt(d_k), dim=-1)


def inverted_dropout(attn_weights, p, training=True):
    mask = (torch.rand(attn_weights.shape) > p).type_as(attn_weights) if training else 1 - p
    return attn_weights * mask / (1 - p)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False, verbose=True):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = dropout
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1), persistent=False)

    def forward(self, x):
        b, n, _ = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = torch.einsum("bid,bjd->bij", queries, keys)
        scores.masked_fill_(self.mask.bool()[:n, :n], -torch.inf)
        scores /= math.sqrt(keys.shape[-1])
        weights = F.dropout(F.softmax(scores, dim=-1), self.dropout, self.training)
        return torch.einsum("bij,bjd->bid", weights, values)
