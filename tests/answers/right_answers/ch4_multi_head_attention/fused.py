"""F.scaled_dot_product_attention, is_causal, one fused projection; a list of shapes in the trace."""

import torch
import torch.nn.functional as F
from ch3_causal_attention import CausalAttention as Head
from torch import nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        heads = [Head(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        self.heads = nn.ModuleList(heads)

    def forward(self, x):
        return torch.stack([head(x) for head in self.heads], dim=-2).flatten(-2)


def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).movedim(-2, 1)


def merge_heads(x):
    return x.movedim(1, -2).flatten(-2)


def trace_shapes(b, num_tokens, d_in, d_out, num_heads):
    per_head = [b, num_heads, num_tokens, d_out // num_heads]
    flat = [b, num_tokens, d_out]
    return {
        "x": [b, num_tokens, d_in], "queries": flat, "queries_heads": per_head,
        "attn_scores": per_head[:3] + [num_tokens], "context_heads": per_head,
        "context_merged": flat, "output": flat,
    }


class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {d_out}")
        self.num_heads, self.p = num_heads, dropout
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer("mask", torch.triu(torch.ones(context_length, context_length), 1))

    def forward(self, x):
        weight = torch.cat([w.weight for w in (self.W_query, self.W_key, self.W_value)])
        bias = torch.cat([w.bias for w in (self.W_query, self.W_key, self.W_value)]) if self.W_query.bias is not None else None
        q, k, v = (split_heads(part, self.num_heads) for part in F.linear(x, weight, bias).chunk(3, -1))
        p = self.p if self.training else 0.0
        return self.out_proj(merge_heads(F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)))
