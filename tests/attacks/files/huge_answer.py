"""Returns a tensor far larger than any reply may be."""


def attention_scores(query, inputs):
    return torch.zeros(64 << 20, dtype=torch.uint8)
