"""split and chunk instead of reshape; a wrapper built with append; contiguous().view()."""

import torch
from ch3_causal_attention import CausalAttention
from torch import nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList()
        for _ in range(num_heads):
            self.heads.append(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias=qkv_bias))

    def forward(self, x):
        outputs = []
        for head in self.heads:
            outputs.append(head(x))
        return torch.cat(outputs, -1)


def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(1), dim=-1)


def trace_shapes(b, num_tokens, d_in, d_out, num_heads):
    x = torch.zeros(b, num_tokens, d_in, device="meta")
    queries = torch.zeros(b, num_tokens, d_out, device="meta")
    heads = split_heads(queries, num_heads)
    scores = heads @ heads.mT
    context = scores @ heads
    merged = merge_heads(context)
    return dict(
        x=x.shape, queries=queries.shape, queries_heads=heads.shape, attn_scores=scores.shape,
        context_heads=context.shape, context_merged=merged.shape, output=merged.shape,
    )


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{d_out} features do not split into {num_heads} heads")
        self.h, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(1).bool())

    def forward(self, x):
        n = x.shape[1]
        q, k, v = (torch.stack(w(x).split(self.head_dim, -1), 1) for w in (self.W_query, self.W_key, self.W_value))
        scores = (q @ k.mT).masked_fill(self.mask[:n, :n], float("-inf")) / self.head_dim**0.5
        context = self.drop(scores.softmax(-1)) @ v
        return self.out_proj(torch.cat(context.unbind(1), -1))
