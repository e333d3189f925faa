def inverted_dropout(attn_weights, p, training=True):
    keep = torch.rand_like(attn_weights) > p
    return attn_weights * keep
