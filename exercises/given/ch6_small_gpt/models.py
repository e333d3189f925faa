"""What chapter 6's functions are tried on: a model of one table, an optimiser, a source of chance."""

import torch
from torch import nn


class NextToken(nn.Module):
    """ids (b, n) → logits (b, n, vocab_size), by the token and by how many there are.

    At most context_length ids, like the models of the chapter.
    """

    def __init__(self, vocab_size, context_length):
        super().__init__()
        self.context_length, self.vocab_size = context_length, vocab_size
        self.table = nn.Parameter(torch.zeros(vocab_size, vocab_size))

    def forward(self, ids):
        """Look up a row for each token."""
        if ids.shape[1] > self.context_length:
            raise ValueError(f"{ids.shape[1]} ids are more than the {self.context_length} it takes")
        return self.table[(ids + ids.shape[1]) % self.vocab_size]


def descent(model, lr):
    """Plain gradient descent on a model's parameters."""
    return torch.optim.SGD(model.parameters(), lr=lr)


def chance(number):
    """A generator with a seed."""
    return torch.Generator().manual_seed(number)
