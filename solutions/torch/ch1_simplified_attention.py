"""PyTorch's own functions for chapter 1, shown by `tensorgrade solution`."""

import torch


def softmax_naive(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, dim=-1)


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return torch.softmax(x, dim=dim)
