"""Stands for a TransformerBlock that is wrong, while SmallGPT is judged."""

import torch
from ch4_multi_head_attention import MultiHeadAttention
from torch import nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift)


class TransformerBlock(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        self.norm1, self.norm2, self.dropout = Norm(d), Norm(d), nn.Dropout(dropout)
        self.attention = MultiHeadAttention(d, d, context_length, dropout, num_heads)
        self.feed_forward = nn.Module()
        self.feed_forward.layers = nn.Sequential(
            nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)
        )

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward.layers(self.norm2(x)))
