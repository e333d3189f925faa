"""Prints a gibibyte, to every output that it has."""

import os
import sys


def attention_scores(query, inputs):
    for _ in range(64):
        print("TOKEN" * (1 << 18))
        sys.stderr.write("TOKEN" * (1 << 18))
        os.write(1, b"TOKEN" * (1 << 18))
    return torch.zeros(len(inputs), dtype=inputs.dtype)
