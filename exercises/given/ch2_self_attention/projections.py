"""Containers for `copy_v2_into_v1`: the parameters of both versions, and nothing that attends."""

import torch
from torch import nn

NAMES = ("W_query", "W_key", "W_value")


class LinearProjections(nn.Module):
    """Three `nn.Linear`s without bias, as in SelfAttention_v2: weights of shape (d_out, d_in)."""

    def __init__(self, d_in, d_out):
        super().__init__()
        for name in NAMES:
            self.add_module(name, nn.Linear(d_in, d_out, bias=False))


class MatrixProjections(nn.Module):
    """Three parameters of shape (d_in, d_out), as in SelfAttention_v1."""

    def __init__(self, d_in, d_out):
        super().__init__()
        for name in NAMES:
            self.register_parameter(name, nn.Parameter(torch.zeros(d_in, d_out)))
