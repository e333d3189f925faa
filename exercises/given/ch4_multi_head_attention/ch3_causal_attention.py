"""A stand-in for chapter 3: a head that takes the same arguments but does not attend.

The wrapper of chapter 4 is judged on making heads, registering them and joining their outputs;
it need not wait for chapter 3. Every argument leaves its mark on the output, and so does training.
"""

import torch
from torch import nn


class CausalAttention(nn.Module):
    """(b, num_tokens, d_in) → (b, num_tokens, d_out), by one projection."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.projection = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.mark, self.rate = 0.1 * context_length, float(dropout)

    def forward(self, x):
        """x (b, num_tokens, d_in) → (b, num_tokens, d_out)."""
        rate = self.rate if self.training else self.rate / 2
        return torch.tanh(self.projection(x)) + self.mark + rate
