"""Masks from arange, additive masks, tril and logical_not, float('-inf') and -1e9."""

import torch
from torch import nn


def causal_mask(context_length):
    at = torch.arange(context_length)
    return at[None, :] > at[:, None]


def mask_and_renormalize(attn_weights):
    kept = attn_weights.tril()
    return torch.nn.functional.normalize(kept, p=1, dim=-1)


def causal_attention_weights(attn_scores, d_k):
    n = attn_scores.shape[-1]
    additive = torch.full((n, n), float("-inf")).triu(1).to(attn_scores.dtype)
    return ((attn_scores * d_k**-0.5) + additive).softmax(-1)


def inverted_dropout(attn_weights, p, training=True):
    if training and p > 0:
        keep = torch.bernoulli(torch.full_like(attn_weights, 1 - p))
        attn_weights = attn_weights.mul(keep).div(1 - p)
    return attn_weights


class CausalAttention(nn.Module):
    """Lower-triangular float buffer; -1e9 instead of infinity; queries scaled first."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(context_length, context_length)))
        self.drop = nn.Dropout(dropout)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        n = x.size(1)
        q = self.W_query(x) / self.W_query.out_features**0.5
        scores = torch.where(self.mask[:n, :n] == 0, torch.tensor(-1e9, dtype=x.dtype), q @ self.W_key(x).mT)
        return self.drop(torch.softmax(scores, dim=2)) @ self.W_value(x)
