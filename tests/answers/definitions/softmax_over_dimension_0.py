def attention_weights(queries, keys):
    d_k = keys.shape[-1]
    return torch.softmax(queries @ keys.transpose(-2, -1) / d_k ** 0.5, dim=0)
