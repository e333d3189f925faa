def scaled_dot_product_attention(queries, keys, values):
    scores = torch.matmul(queries, keys.transpose(-2, -1))
    weights = torch.softmax(scores, dim=1)
    return torch.matmul(weights, values)
