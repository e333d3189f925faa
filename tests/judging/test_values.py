"""Values are compared as torch compares them, and a difference is shown where it is."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.course import Tolerance
from tensorgrade.exchange.observation import Observation, Outcome
from tensorgrade.judging.comparison import ValueJudge, disagreement, side_by_side
from tensorgrade.runner.values import Packer

TOLERANCES = {"float64": Tolerance(1e-5, 1e-5), "float32": Tolerance(1e-4, 1e-4)}
numbers = st.floats(-1e3, 1e3, width=64) | st.sampled_from(
    [float("nan"), float("inf"), -float("inf"), 0.0]
)


@given(st.lists(st.tuples(numbers, st.floats(-1e-4, 1e-4)), min_size=1, max_size=6))
def test_as_torch_allclose_for_float64(pairs):
    expected = torch.tensor([a for a, _ in pairs], dtype=torch.float64)
    actual = expected + torch.tensor([d for _, d in pairs], dtype=torch.float64)
    close = torch.allclose(actual, expected, rtol=1e-5, atol=1e-5)
    assert (disagreement(actual, expected, TOLERANCES) is None) == close


LARGE, NAN = torch.tensor([2**53, 7]), torch.tensor([float("nan")])
ONE = torch.ones(3, dtype=torch.float64)
# An actual and an expected tensor, and the kind of their disagreement.
PAIRS = {
    "nan never passes": (NAN, NAN, "nan"),
    "shape comes first": (torch.ones(1, 2), torch.zeros(2), "shape"),
    "nothing": (None, torch.ones(2), "absent"),
    "large integers": (LARGE + torch.tensor([1, 0]), LARGE, "values"),
    "another type of integers": (torch.tensor([7]).int(), torch.tensor([7]), None),
    "booleans": (torch.tensor([True]), torch.tensor([False]), "values"),
    "booleans as numbers": (torch.tensor([1.0, 0.0]), torch.tensor([True, False]), None),
    "close in float64": (ONE + 5e-6, ONE, None),
    "not close in float64": (ONE + 5e-5, ONE, "values"),
    "close in float32": ((ONE + 5e-5).float(), ONE, None),
    "not close in float32": ((ONE + 5e-4).float(), ONE, "values"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_tensors_disagree_as_they_should(name: str):
    """The coarser dtype gives the tolerance."""
    actual, expected, kind = PAIRS[name]
    found = disagreement(actual, expected, TOLERANCES)
    assert (found and found.kind) == kind
    if name == "large integers":
        assert found.differs.tolist() == [True, False]


NOTHING = Observation(Outcome.ANSWERED)
LONG = {number: number * number for number in range(60)}


def shown_of(want: object, got: object) -> tuple[str, str]:
    """Return the display of two values that differ."""
    packer = Packer(lambda place, tensor: {"tensor": place})
    trees = packer.pack(want, ""), packer.pack(got, "")
    gap = ValueJudge(NOTHING, NOTHING, {}).between(*trees, trees)
    assert gap is not None
    return side_by_side(gap)


def test_of_dicts_that_part_is_shown_that_differs():
    for want, got, *shown in (
        # Not `{(6, 5): 1}` alone, as if the pair that is there were too much.
        ({(5, 6): 2, (6, 5): 1}, {(5, 6): 2}, "{(5, 6): 2, (6, 5): 1}", "{(5, 6): 2}"),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, "{'a': 1, 'b': 2}", "{'b': 2, 'c': 3}"),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, "{'b': 2}", "{'b': 3}"),
    ):
        assert [*shown_of(want, got)] == shown
    expected, actual = shown_of(LONG, {key: v for key, v in reversed(LONG.items()) if key != 50})
    assert "50: 2500" in expected and "51: 2601" in actual and "50: 2500" not in actual
    assert len(expected) < 70 and len(actual) < 70
