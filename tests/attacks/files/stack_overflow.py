"""Recurses until the stack ends, without and with Python's own bound."""

import sys


def attention_scores(query, inputs):
    sys.setrecursionlimit(1 << 30)
    return attention_scores(query, inputs)
