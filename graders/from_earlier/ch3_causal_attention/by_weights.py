"""Right answers that call causal_mask, causal_attention_weights and inverted_dropout."""

from typing import Any

import torch
from torch import nn

causal_mask: Any = None
causal_attention_weights: Any = None
inverted_dropout: Any = None


class CausalAttention(nn.Module):
    mask: torch.Tensor

    def __init__(self, d_in, d_out, context_length, dropout=0.0, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.p = dropout
        self.register_buffer("mask", causal_mask(context_length=context_length))

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        attn_scores = queries @ keys.mT
        attn_weights = causal_attention_weights(attn_scores=attn_scores, d_k=keys.shape[-1])
        attn_weights = inverted_dropout(attn_weights=attn_weights, p=self.p, training=self.training)
        return attn_weights @ values
