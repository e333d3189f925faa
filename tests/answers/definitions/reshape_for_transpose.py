def attention_weights(queries, keys):
    turned = keys.reshape(*keys.shape[:-2], keys.shape[-1], keys.shape[-2])
    scores = queries @ turned / keys.shape[-1] ** 0.5
    return torch.softmax(scores, dim=-1)
