"""A loop over sentences and tokens that never looks at a mask, though it keeps one."""

import torch
from torch import nn


class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.d_out = d_out
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).triu(diagonal=1) > 0)

    def forward(self, x):
        sentences = []
        for sentence in x:
            q, k, v = self.W_query(sentence), self.W_key(sentence), self.W_value(sentence)
            rows = []
            for i in range(len(sentence)):
                weights = torch.softmax(k[: i + 1] @ q[i] / self.d_out**0.5, dim=0)
                rows.append(self.dropout(weights) @ v[: i + 1])
            sentences.append(torch.stack(rows))
        return torch.stack(sentences)
