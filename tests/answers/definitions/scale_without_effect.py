def attention_weights(queries, keys):
    d_k = keys.shape[-1]
    scores = queries @ keys.transpose(-2, -1)
    scores / d_k ** 0.5
    return torch.softmax(scores, dim=-1)
