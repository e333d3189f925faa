"""Dropout is distinguished from similar behaviour, and chance is almost never blamed."""

from itertools import product

import pytest
import torch

from tensorgrade.exchange.cases import Case
from tensorgrade.recognition import dropout
from tensorgrade.recognition.dropout import (
    DropoutBehaviour,
    chances,
    counts_by_chance,
    dependence,
    deviations,
    difference,
    is_uneven,
    repeats,
)

from ..support import amount

P = 0.3
SHAPE = (2, 4, 20, 30)  # calls, batch, rows, columns
EVERYWHERE = torch.ones(SHAPE[1:], dtype=torch.bool)
BELOW = EVERYWHERE.tril()  # as many as causal weights have


def drawn(seed: int, p: float = P, entries: torch.Tensor = EVERYWHERE) -> torch.Tensor:
    """Return the entries that right dropout keeps, as probabilities."""
    generator = torch.Generator().manual_seed(seed)
    return chances(torch.rand(2, *entries.shape, generator=generator) >= p, entries, p)


def mirrored(chance):
    """A row drops what the row at the other end drops."""
    first = chance[..., : chance.shape[-2] // 2, :]
    return torch.cat((first, first.flip(-2)), dim=-2) >= P


def moved_on(chance):
    """Each row drops what the one before dropped, one place further on."""
    return torch.stack([chance[..., 0, :].roll(n, -1) for n in range(20)], dim=-2) >= P


def half_repeated(chance):
    """The second half of the rows drops what the first one drops."""
    first = chance[..., : chance.shape[-2] // 2, :]
    return torch.cat((first, first), dim=-2) >= P


def test_dependent_entries_are_reported_with_their_dimension():
    chance = torch.rand(SHAPE, generator=torch.Generator().manual_seed(1))
    for keep, dim in ((mirrored, 2), (moved_on, 3), (half_repeated, 2)):
        assert dependence(chances(keep(chance), EVERYWHERE, P), EVERYWHERE, P) == dim, keep
    for seed in range(3):
        assert dependence(drawn(seed), EVERYWHERE, P) is None
    square = torch.ones(60, 60, dtype=torch.bool)
    kept = torch.rand(2, 60, 60, generator=torch.Generator().manual_seed(1)) >= P
    symmetric = kept.tril() | kept.tril(-1).mT
    assert dependence(chances(symmetric, square, P), square, P) == 2


def test_slices_that_lose_the_same_entries_are_reported():
    plain, row = torch.ones(3, 4), torch.tensor([2.0, 0, 2, 0])
    case = Case("dropout", "three rows", (), {})
    assert repeats(case, plain, row.expand(3, 4), None) == "slices"
    assert repeats(case, plain, torch.stack([row, row.roll(1), row]), None) == "nothing"
    assert repeats(case, plain, row.expand(3, 4), row.expand(3, 4)) == "calls"


def test_a_number_that_never_varies_is_reported():
    assert counts_by_chance([0.9, 0.3, 1.4, 0.2, 0.8, 1.1])
    assert not counts_by_chance([0.02] * 8)
    assert counts_by_chance([0.0] * 3)  # too few to decide
    totals = [t for seed in range(4) for t in deviations(drawn(seed), EVERYWHERE, P)]
    assert counts_by_chance(totals)


def test_a_slice_that_is_never_dropped_is_noticed():
    for dim in (1, 2, 3):
        kept = torch.rand(SHAPE, generator=torch.Generator().manual_seed(1)) >= P
        kept.select(dim, 0).fill_(True)
        assert is_uneven(chances(kept, EVERYWHERE, P), EVERYWHERE, P)
    assert not is_uneven(drawn(1), EVERYWHERE, P)


@pytest.mark.parametrize(
    "zeros, scale, told",
    [
        (0.0, 1.0, "dropped"),
        (1.0, None, "drops everything"),
        (0.0, 1 / (1 - P), "scales everything"),
        (P, None, "not all scaled by the same"),
        (P, 1.0, "not scaled up"),
        (P, 3.0, "scaled by 3,"),
    ],
)
def test_each_behaviour_has_its_sentence(zeros, scale, told):
    assert told in difference(DropoutBehaviour(zeros, scale), P)


@pytest.mark.proof
@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.5, 0.8])
def test_the_rate_of_false_alarms_is_below_one_in_a_million(p: float, monkeypatch):
    """There is none. At weaker bounds, where they can be counted, they are as rare as those say.

    Eight comparisons with a chance of 1e-10 each, and some twenty of eight deviations, make
    less than 1e-8: a factor of a hundred is left for how well far tails are known.
    """
    for seed, entries in product(range(min(200, amount(2))), (EVERYWHERE, BELOW)):
        once = drawn(seed, p, entries)
        assert dependence(once, entries, p) is None and not is_uneven(once, entries, p)
    monkeypatch.setattr(dropout, "UNLIKELY", 1e-4)
    monkeypatch.setattr(dropout, "FAR", 4.0)  # 6e-5, both sides
    runs = min(3000, amount(30))
    alarms = sum(dependence(drawn(seed, p, BELOW), BELOW, p) is not None for seed in range(runs))
    comparisons = 4 * 2 * 1e-4 + 18 * 6e-5
    assert alarms <= 4 * comparisons * runs + 2, alarms
