"""Dropout is distinguished from similar behaviour, and chance is almost never blamed."""

import pytest
import torch

from tensorgrade.exchange.cases import Case
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

P = 0.3
SHAPE = (2, 4, 20, 30)  # calls, batch, rows, columns
EVERYWHERE = torch.ones(SHAPE[1:], dtype=torch.bool)


def drawn(seed: int, entries: torch.Tensor = EVERYWHERE) -> torch.Tensor:
    """Return the entries that right dropout keeps, as probabilities."""
    generator = torch.Generator().manual_seed(seed)
    return chances(torch.rand(2, *entries.shape, generator=generator) >= P, entries, P)


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


KINDS = {  # each with the dimension whose slices depend on each other
    "mirrored rows": (2, mirrored),
    "rows moved on": (3, moved_on),
    "half of the rows": (2, half_repeated),
}


def test_a_symmetric_pattern_is_reported():
    chance = torch.rand(2, 60, 60, generator=torch.Generator().manual_seed(1))
    kept, entries = chance >= P, torch.ones(60, 60, dtype=torch.bool)
    assert dependence(chances(kept, entries, P), entries, P) is None
    symmetric = kept.tril() | kept.tril(-1).mT
    assert dependence(chances(symmetric, entries, P), entries, P) == 2


def test_dependent_entries_are_reported_with_their_dimension():
    chance = torch.rand(SHAPE, generator=torch.Generator().manual_seed(1))
    for kind, (dim, keep) in KINDS.items():
        assert dependence(chances(keep(chance), EVERYWHERE, P), EVERYWHERE, P) == dim, kind
    for seed in range(3):
        assert dependence(drawn(seed), EVERYWHERE, P) is None


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
        (0.0, 1.0, "nothing is dropped"),
        (1.0, None, "everything is dropped"),
        (0.0, 1 / (1 - P), "everything is scaled"),
        (P, None, "not all scaled by the same"),
        (P, 1.0, "not scaled up"),
        (P, 3.0, "scaled by 3,"),
    ],
)
def test_each_behaviour_has_its_sentence(zeros, scale, told):
    assert told in difference(DropoutBehaviour(zeros, scale), P)
