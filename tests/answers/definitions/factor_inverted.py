def online_softmax_attention(queries, keys, values, block_size):
    n, d = queries.shape
    largest = torch.full((n, 1), -torch.inf, dtype=queries.dtype)
    total = torch.zeros(n, 1, dtype=queries.dtype)
    context = torch.zeros(n, values.shape[1], dtype=queries.dtype)
    for start in range(0, len(keys), block_size):
        k = keys[start : start + block_size]
        v = values[start : start + block_size]
        s = queries @ k.T / d ** 0.5
        new = torch.maximum(largest, s.amax(dim=1, keepdim=True))
        factor = torch.exp(new - largest)
        e = torch.exp(s - new)
        total = total * factor + e.sum(dim=1, keepdim=True)
        context = context * factor + e @ v
        largest = new
    return context / total
