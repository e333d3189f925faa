def scaled_dot_product_attention(keys, queries, v):
    weights = torch.softmax(keys @ queries.mT / queries.shape[-1] ** 0.5, dim=-1)
    return weights @ v
