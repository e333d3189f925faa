"""Facts about a wrong value: what it sums to, what its ratio looks like, where its numbers went."""

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.judging.diagnosis import Diagnosis, Finding, Kind
from tensorgrade.judging.remarks import ratios, remarks
from tensorgrade.messages.message import Plain, render, sentence


def case_of(**arguments):
    """Return a case that calls `f` with these arguments."""
    return record("f", "a/1", [call("f", **arguments)])


def test_hidden_remarks_do_not_depend_on_the_expected_values():
    case = case_of(x=torch.arange(12.0).reshape(3, 4))
    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        actual = torch.softmax(torch.randn(3, 4, generator=generator), dim=0)
        first, second = (
            torch.softmax(torch.randn(3, 4, generator=generator), dim=-1) for _ in range(2)
        )
        found = remarks(case, actual, first, hidden=True)
        assert found and found == remarks(case, actual, second, hidden=True)


@pytest.mark.parametrize(
    "factor, said",
    [
        (0.5, "1/sqrt(4); 4 is `d_k`"),
        (4.0, "times 4, which is `d_k`"),
        (2.0, "sqrt(4); 4 is `d_k`"),
        (5.0, "times 5, which is the number of rows of `x`"),
        (-1.0, "the sign"),
        (1 / 0.7, "1/(1 - 0.3); 0.3 is `p`"),
        (1.234, "times 1.234"),
        (1.002, "times 1.002"),
    ],
)
def test_what_a_ratio_looks_like(factor, said):
    case, expected = case_of(x=torch.zeros(5, 7), d_k=4, p=0.3), torch.randn(5, 7)
    assert said in render(ratios(case, factor * expected, expected))


def test_a_ratio_without_an_origin():
    case, expected = case_of(x=torch.zeros(5, 7), p=0.5), torch.randn(5, 7)
    # 0.5 is `p`, and 1 - `p`.
    assert render(ratios(case, 0.5 * expected, expected)).endswith("times 0.5")
    assert ratios(case, torch.randn(5, 7), expected) is None
    assert ratios(case, 1.00003 * expected, expected) is None
    weights = torch.softmax(expected, dim=-1)
    assert ratios(case, torch.softmax(1.00003 * expected, dim=-1).double(), weights) is None


def test_no_message_is_longer_than_it_may_be():
    diagnosis = Diagnosis(Kind.FACT, Plain("it changes " + "its input " * 100_000))
    finding = Finding("", diagnosis, {"a": "One idea is wrong. " * 50})
    for said in (render(diagnosis.problem), sentence(finding.message)):
        assert len(said) <= LONGEST_MESSAGE
