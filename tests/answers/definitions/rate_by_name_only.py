def inverted_dropout(x, *, rate=0.2, training=True):
    if not training:
        return x
    keep = torch.rand(x.shape) >= rate
    return x * keep / (1 - rate)
