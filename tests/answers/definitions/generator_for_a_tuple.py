def project_qkv(x, W_query, W_key, W_value):
    return (x @ W for W in (W_query, W_key, W_value))
