def sinusoidal_positions(num_tokens, d):
    t = torch.arange(num_tokens)
    table = torch.zeros(num_tokens, d)
    for i in range(d // 2 - 1):
        table[:, 2 * i] = torch.sin(t / 10000 ** (2 * i / d))
        table[:, 2 * i + 1] = torch.cos(t / 10000 ** (2 * i / d))
    return table
