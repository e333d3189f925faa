"""Facts about a wrong value: what it sums to, what its ratio looks like, where its numbers went."""

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.judging.remarks import ratios


def case_of(**arguments):
    """Return a case that calls `f` with these arguments."""
    return record("f", "a/1", [call("f", **arguments)])


@pytest.mark.parametrize(
    "power, said",
    [
        (-0.5, "times 0.5, which is 1/sqrt(4); 4 is `d_k`"),
        (1, "times 4, which is `d_k`"),
        (0.5, "times 2, which is sqrt(4); 4 is `d_k`"),
    ],
)
def test_a_cause_of_a_factor_holds_for_other_sizes_too(power, said):
    cases = [case_of(x=torch.zeros(5, 7), d_k=d_k) for d_k in (4, 9, 1)]
    expected = torch.randn(5, 7)
    here, other, one = (
        (case, dict(case.passed)["d_k"] ** power * expected, expected) for case in cases
    )
    assert said in ratios(here, [other, one])
    assert "which" not in ratios(here) and "which" not in ratios(here, [one])
    assert "which" not in ratios(here, [(cases[1], 4**power * expected, expected)])
