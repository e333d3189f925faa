"""Chance is almost never taken for a mistake: right dropout is not blamed for what it draws."""

import pytest
import torch

from tensorgrade.recognition import dropout
from tensorgrade.recognition.dropout import chances, dependence, is_uneven

from ..support import amount

pytestmark = pytest.mark.proof
SHAPE = (2, 4, 20, 30)  # calls, batch, rows, columns
EVERYWHERE = torch.ones(SHAPE[1:], dtype=torch.bool)
BELOW = EVERYWHERE.tril()  # as many as causal weights have


def drawn(seed: int, p: float, entries: torch.Tensor) -> torch.Tensor:
    """Return the entries that right dropout keeps, as probabilities."""
    generator = torch.Generator().manual_seed(seed)
    kept = torch.rand(2, *entries.shape, generator=generator) >= p
    return chances(kept, entries, p)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("entries", [EVERYWHERE, BELOW], ids=["everywhere", "below the diagonal"])
def test_chance_alone_is_not_blamed(p: float, entries: torch.Tensor):
    for seed in range(min(200, amount(2))):
        once = drawn(seed, p, entries)
        assert dependence(once, entries, p) is None and not is_uneven(once, entries, p)


@pytest.mark.parametrize("p", [0.1, 0.2, 0.5, 0.8])
def test_the_rate_of_false_alarms_is_below_one_in_a_million(p: float, monkeypatch):
    """At weaker bounds, where alarms can be counted, they are as rare as the bounds say.

    Eight comparisons with a chance of 1e-10 each, and some twenty of eight deviations, make
    less than 1e-8: a factor of a hundred is left for how well far tails are known.
    """
    monkeypatch.setattr(dropout, "UNLIKELY", 1e-4)
    monkeypatch.setattr(dropout, "FAR", 4.0)  # 6e-5, both sides
    runs = min(3000, amount(30))
    alarms = sum(dependence(drawn(seed, p, BELOW), BELOW, p) is not None for seed in range(runs))
    comparisons = 4 * 2 * 1e-4 + 18 * 6e-5
    assert alarms <= 4 * comparisons * runs + 2, alarms
