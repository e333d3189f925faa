"""A dataclass holds the sizes, a base class the projections; demo code switches gradients off."""

from dataclasses import dataclass
from functools import partial

import torch
from torch import nn

torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)


@dataclass(frozen=True)
class Config:
    d_in: int
    d_out: int
    context_length: int
    dropout: float
    num_heads: int
    qkv_bias: bool = False

    def __post_init__(self):
        if self.d_out % self.num_heads:
            raise ValueError(f"{self.num_heads} heads must share {self.d_out} evenly")


class Projected(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        linear = partial(nn.Linear, config.d_in, config.d_out, bias=config.qkv_bias)
        self.W_query, self.W_key, self.W_value = linear(), linear(), linear()
        self.out_proj = nn.Linear(config.d_out, config.d_out)

    @property
    def head_dim(self):
        return self.config.d_out // self.config.num_heads

    def heads(self, x):
        return x.unflatten(-1, (self.config.num_heads, self.head_dim)).transpose(1, 2)


class MultiHeadAttention(Projected):
    def __init__(self, *arguments, **named):
        super().__init__(Config(*arguments, **named))
        self.dropout = nn.Dropout(self.config.dropout)
        size = self.config.context_length
        self.register_buffer("mask", torch.ones(size, size, dtype=torch.bool).triu(1))

    def forward(self, x):
        q, k, v = (self.heads(layer(x)) for layer in (self.W_query, self.W_key, self.W_value))
        n = x.shape[1]
        scores = (q @ k.mT).masked_fill(self.mask[:n, :n], float("-inf"))
        weights = self.dropout(torch.softmax(scores * self.head_dim**-0.5, dim=-1))
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))


print(MultiHeadAttention(3, 4, 6, 0.0, 2)(torch.rand(1, 6, 3)))
