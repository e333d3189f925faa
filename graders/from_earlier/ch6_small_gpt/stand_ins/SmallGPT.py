"""Substitute for a wrong SmallGPT while trained_loss loads weights into it."""

from importlib import import_module

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift)


class Block(nn.Module):
    def __init__(self, d, context_length, dropout, num_heads):
        super().__init__()
        attention = import_module("ch4_multi_head_attention").MultiHeadAttention
        self.attention = attention(d, d, context_length, dropout, num_heads)
        self.norm1, self.norm2, self.dropout = Norm(d), Norm(d), nn.Dropout(dropout)
        layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.feed_forward = nn.ModuleDict({"layers": layers})

    def forward(self, x):
        x = x + self.dropout(self.attention(self.norm1(x)))
        return x + self.dropout(self.feed_forward["layers"](self.norm2(x)))


class SmallGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d, num_heads, num_layers, dropout=0.0):
        super().__init__()
        self.context_length, self.dropout = context_length, nn.Dropout(dropout)
        self.token_embedding = nn.Embedding(vocab_size, d)
        self.position_embedding = nn.Embedding(context_length, d)
        blocks = [Block(d, context_length, dropout, num_heads) for _ in range(num_layers)]
        self.blocks, self.final_norm = nn.Sequential(*blocks), Norm(d)
        self.head = nn.Linear(d, vocab_size, bias=False)

    def forward(self, ids):
        x = self.token_embedding(ids) + self.position_embedding.weight[: ids.shape[1]]
        return self.head(self.final_norm(self.blocks(self.dropout(x))))
