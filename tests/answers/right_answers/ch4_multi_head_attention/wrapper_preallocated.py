"""The output is made first and filled head by head."""

import torch
from ch3_causal_attention import CausalAttention
from torch import nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads))
        self.d_out = d_out

    def forward(self, x):
        out = torch.zeros(*x.shape[:2], len(self.heads) * self.d_out, dtype=x.dtype)
        for i, head in enumerate(self.heads):
            out[..., i * self.d_out : (i + 1) * self.d_out] = head(x)
        return out
