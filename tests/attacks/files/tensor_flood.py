"""Sends a hundred thousand small tensors in one reply."""


def attention_scores(query, inputs):
    return tuple(torch.zeros(1) for _ in range(100_000))
