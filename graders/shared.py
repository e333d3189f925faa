"""The running example that several chapters share, and its weights."""

import torch

# "Your journey starts with one step", three features for each token.
SENTENCE = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
QKV = ("W_query", "W_key", "W_value")


def example_weights() -> dict[str, torch.Tensor]:
    """Return the lesson's three matrices: seed 123, torch.rand(3, 2), query, key, value."""
    generator = torch.Generator().manual_seed(123)
    return {name: torch.rand(3, 2, generator=generator) for name in QKV}


def counted(*shape: int) -> torch.Tensor:
    """Return 1, 2, 3, … in a shape: easy to follow by eye."""
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)
