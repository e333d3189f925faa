"""Scaled before masking; each step on its own line, with a name."""

import torch
from ch3_causal_attention import CausalAttention
from torch import nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            CausalAttention(d_in, d_out, context_length, dropout, qkv_bias)
            for _ in range(num_heads)
        )

    def forward(self, x):
        outputs = []
        for head in self.heads:
            head_outputs = head(x)
            outputs.append(head_outputs)
        return torch.cat(outputs, dim=2)


def split_heads(x, num_heads):
    b, num_tokens, d_out = x.shape
    by_head = x.view(b, num_tokens, num_heads, d_out // num_heads)
    return by_head.permute(0, 2, 1, 3)


def merge_heads(x):
    b, num_heads, num_tokens, head_dim = x.shape
    tokens_first = x.permute(0, 2, 1, 3)
    return tokens_first.contiguous().view(b, num_tokens, num_heads * head_dim)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads != 0:
            raise ValueError("num_heads must divide d_out")
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        b, num_tokens, _ = x.shape
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        queries_heads = self.by_head(queries)
        keys_heads = self.by_head(keys)
        values_heads = self.by_head(values)
        attn_scores = queries_heads @ keys_heads.transpose(2, 3)
        scaled_scores = attn_scores / self.head_dim**0.5
        future = self.mask.bool()[:num_tokens, :num_tokens]
        masked_scores = scaled_scores.masked_fill(future, -torch.inf)
        attn_weights = torch.softmax(masked_scores, dim=-1)
        attn_weights = self.dropout(attn_weights)
        context_heads = attn_weights @ values_heads
        tokens_first = context_heads.transpose(1, 2)
        context_merged = tokens_first.contiguous().view(b, num_tokens, -1)
        return self.out_proj(context_merged)

    def by_head(self, projected):
        b, num_tokens, _ = projected.shape
        tokens_first = projected.view(b, num_tokens, self.num_heads, self.head_dim)
        return tokens_first.transpose(1, 2)
