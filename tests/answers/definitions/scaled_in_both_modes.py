def inverted_dropout(attn_weights, p, training=True):
    if not training:
        return attn_weights * (1 - p)
    kept = torch.bernoulli(torch.full_like(attn_weights, 1 - p))
    return attn_weights * kept / (1 - p)
