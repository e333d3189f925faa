def scaled_dot_product_attention(queries, keys, values):
    scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
    shares = torch.nn.functional.softmax(scores)
    return shares @ values
