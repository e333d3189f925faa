"""Reads address 0.

Ends as: killed
"""

import ctypes


def attention_scores(query, inputs):
    return ctypes.string_at(0)
