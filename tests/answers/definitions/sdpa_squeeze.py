def scaled_dot_product_attention(queries, keys, values):
    return (attention_weights(queries, keys) @ values).squeeze()
