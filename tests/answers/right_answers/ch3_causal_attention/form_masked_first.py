"""The mask comes first, and the masked scores are scaled."""

import torch
from torch import nn


def mask_and_renormalize(attn_weights):
    future = torch.triu(torch.ones_like(attn_weights), diagonal=1).bool()
    masked = attn_weights.masked_fill(future, 0.0)
    return masked / masked.sum(dim=-1, keepdim=True)


def causal_attention_weights(attn_scores, d_k):
    future = torch.triu(torch.ones_like(attn_scores), diagonal=1)
    masked_scores = attn_scores.masked_fill(future.bool(), -torch.inf)
    return torch.softmax(masked_scores / d_k**0.5, dim=-1)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        n = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.mT
        masked_scores = attn_scores.masked_fill(self.mask[:n, :n].bool(), -torch.inf)
        attn_weights = torch.softmax(masked_scores / keys.shape[-1] ** 0.5, dim=-1)
        return self.dropout(attn_weights) @ values
