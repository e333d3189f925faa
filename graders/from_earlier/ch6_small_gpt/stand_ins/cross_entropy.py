"""Stands for a cross_entropy that is wrong, while train_step is judged: torch's own."""

from torch.nn import functional


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
