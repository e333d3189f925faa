"""Returns whole numbers of four thousand digits, dicts of them, and floats that are none."""


def attention_scores(query, inputs):
    return 10**4000


def softmax_naive(x):
    return {"values": [10**4000, float("nan"), float("inf")], "shape": [10**4000]}


def softmax(x, dim=-1):
    return [10**4000] * 1000


def context_vector(query, inputs):
    return float("inf")
