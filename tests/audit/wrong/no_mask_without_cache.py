import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, num_heads, qkv_bias=False):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, d_out // num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.register_buffer(
            "mask", torch.ones(context_length, context_length, dtype=torch.bool).triu(1)
        )

    def heads(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def forward(self, x, cache=None):
        q, k, v = (
            self.heads(self.W_query(x)),
            self.heads(self.W_key(x)),
            self.heads(self.W_value(x)),
        )
        scores_mask = None
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            t, n = k.shape[2], x.shape[1]
            scores_mask = self.mask[t - n : t, :t]
        scores = q @ k.transpose(2, 3)
        if scores_mask is not None:
            scores = scores.masked_fill(scores_mask, -torch.inf)
        weights = torch.softmax(scores / self.head_dim**0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).flatten(2)
        return self.out_proj(out), (k, v)
