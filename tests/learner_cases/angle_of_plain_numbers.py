import numpy as np


def sinusoidal_positions(num_tokens, d):
    table = torch.zeros(num_tokens, d)
    for place in range(num_tokens):
        for column in range(0, d, 2):
            turn = place / 10000 ** (2 * column / d)
            table[place, column] = np.sin(turn)
            table[place, column + 1] = np.cos(turn)
    return table
