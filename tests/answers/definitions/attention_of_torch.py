def scaled_dot_product_attention(queries, keys, values):
    return torch.nn.functional.scaled_dot_product_attention(queries, keys, values)
