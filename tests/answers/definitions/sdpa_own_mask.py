def scaled_dot_product_attention(queries, keys, values, mask=None):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    mask = torch.ones_like(scores, dtype=torch.bool).tril()
    scores = torch.where(mask, scores, -torch.inf)
    weights = torch.exp(scores) / scores.sum(dim=-1, keepdim=True)
    return weights @ values
