"""Substitute for a wrong FeedForward while later exercises are graded."""

from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        return self.layers(x)
