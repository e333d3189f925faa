import math
def sinusoidal_positions(num_tokens, d):
    table = torch.zeros(num_tokens, d)
    for t in range(num_tokens):
        for i in range(0, d, 2):
            table[t, i] = math.sin(t / 10000 ** (2 * i / d))
            table[t, i + 1] = math.cos(t / 10000 ** (2 * (i + 1) / d))
    return table
