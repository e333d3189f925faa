"""Substitute for a wrong cross_entropy while train_step is graded: torch's own."""

from torch.nn import functional


def cross_entropy(logits, targets):
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
