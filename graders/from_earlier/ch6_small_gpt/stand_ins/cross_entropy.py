"""Stands for a cross_entropy that is wrong, while train_step is judged: torch's own."""

from torch.nn import functional


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten())
