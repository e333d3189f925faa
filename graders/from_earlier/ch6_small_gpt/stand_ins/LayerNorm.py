"""Substitute for a wrong LayerNorm while later exercises are graded: torch's own."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d, eps=1e-5):
        super().__init__()
        self.eps, self.scale, self.shift = (
            eps,
            nn.Parameter(torch.ones(d)),
            nn.Parameter(torch.zeros(d)),
        )

    def forward(self, x):
        return nn.functional.layer_norm(x, x.shape[-1:], self.scale, self.shift, self.eps)
