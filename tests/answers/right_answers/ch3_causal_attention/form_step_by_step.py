"""Scaled before masking; masks of ones below the diagonal; each step has a name."""

import torch
from torch import nn


def causal_mask(context_length):
    visible = torch.tril(torch.ones(context_length, context_length))
    return visible == 0


def mask_and_renormalize(attn_weights):
    masked = torch.tril(attn_weights)
    row_sums = masked.sum(dim=-1, keepdim=True)
    return masked / row_sums


def causal_attention_weights(attn_scores, d_k):
    scaled_scores = attn_scores / d_k**0.5
    future = torch.ones_like(scaled_scores).triu(diagonal=1).bool()
    masked_scores = scaled_scores.masked_fill(future, -torch.inf)
    exponentials = torch.exp(masked_scores - masked_scores.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        num_tokens = x.shape[1]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.transpose(1, 2)
        scaled_scores = attn_scores / keys.shape[-1] ** 0.5
        future = self.mask.bool()[:num_tokens, :num_tokens]
        masked_scores = scaled_scores.masked_fill(future, -torch.inf)
        attn_weights = torch.softmax(masked_scores, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_vec = attn_weights @ values
        return context_vec
