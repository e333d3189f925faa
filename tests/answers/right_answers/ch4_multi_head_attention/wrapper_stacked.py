"""stack, permute and reshape instead of cat; an extra argument with a default."""

import torch
from ch3_causal_attention import CausalAttention
from torch import nn


class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        arguments = (d_in, d_out, context_length, dropout, qkv_bias)
        self.heads = nn.ModuleList([CausalAttention(*arguments) for _ in range(num_heads)])
        self.num_heads = num_heads

    def forward(self, x, verbose=False):
        stacked = torch.stack([self.heads[i](x) for i in range(self.num_heads)])
        if verbose:
            print(stacked.shape)
        return stacked.permute(1, 2, 0, 3).reshape(x.shape[0], x.shape[1], -1)
