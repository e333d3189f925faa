def online_softmax_attention(queries, keys, values, block_size):
    n, d = queries.shape
    top, total, acc = torch.full((n, 1), -torch.inf), torch.zeros(n, 1), torch.zeros(n, d)
    for start in range(0, n, block_size):
        k, v = keys[start:start + block_size], values[start:start + block_size]
        s = queries @ k.T / d ** 0.5
        new = torch.maximum(top, s.amax(1, keepdim=True))
        f, p = torch.exp(top - new), torch.exp(s - new)
        total = total * f + p.sum(1, keepdim=True)
        acc = acc * f + p @ v
        top = new
    return acc / total
