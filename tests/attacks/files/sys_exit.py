"""Leaves through sys.exit(0), when loaded and when called."""

import sys


def attention_scores(query, inputs):
    sys.exit(0)


def softmax(x, dim=-1):
    raise KeyboardInterrupt


sys.exit(0)
