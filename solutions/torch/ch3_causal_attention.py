"""PyTorch's own functions for chapter 3, shown by `tensorgrade solution`."""

import torch
import torch.nn.functional as F


def inverted_dropout(attn_weights: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    return F.dropout(attn_weights, p, training)
