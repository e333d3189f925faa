"""Agreement of tensors, against torch's own comparison; the display of values that differ."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.course import Tolerance
from tensorgrade.exchange.observation import Observation, Outcome
from tensorgrade.judging.comparison import ValueGap, ValueJudge, disagreement, side_by_side
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


def test_nan_never_passes_even_where_nan_is_expected():
    nan = torch.tensor([float("nan")])
    assert disagreement(nan, nan, TOLERANCES).kind == "nan"


def test_shape_comes_before_values():
    assert disagreement(torch.ones(1, 2), torch.ones(2), TOLERANCES).kind == "shape"
    assert disagreement(None, torch.ones(2), TOLERANCES).kind == "absent"


def test_large_integers_differ_by_one():
    large = torch.tensor([2**53, 7])
    found = disagreement(large + torch.tensor([1, 0]), large, TOLERANCES)
    assert found.kind == "values" and found.differs.tolist() == [True, False]
    assert disagreement(large.to(torch.int32), large.to(torch.int32).long(), TOLERANCES) is None


@pytest.mark.parametrize(
    "dtype, shift, right",
    [
        (torch.float64, 5e-6, True),
        (torch.float64, 5e-5, False),
        (torch.float32, 5e-5, True),
        (torch.float32, 5e-4, False),
    ],
)
def test_the_coarser_dtype_gives_the_tolerance(dtype, shift, right):
    expected = torch.ones(3, dtype=torch.float64)
    found = disagreement((expected + shift).to(dtype), expected, TOLERANCES)
    assert (found is None) == right


def test_booleans_and_whole_numbers_are_compared_exactly():
    assert disagreement(torch.tensor([True]), torch.tensor([False]), TOLERANCES).kind == "values"
    assert disagreement(torch.tensor([1.0, 0.0]), torch.tensor([True, False]), TOLERANCES) is None


# --- values that are not tensors --------------------------------------------------------------

NOTHING = Observation(Outcome.ANSWERED)
LONG = {number: number * number for number in range(60)}


def gap_between(want: object, got: object) -> ValueGap:
    """Return the first difference of two values."""
    packer = Packer(lambda place, tensor: {"tensor": place})
    trees = packer.pack(want, ""), packer.pack(got, "")
    gap = ValueJudge(NOTHING, NOTHING, {}).between(*trees, trees)
    assert gap is not None
    return gap


def shown_of(want: object, got: object) -> tuple[str, str]:
    """Return the display of two values that are said to differ."""
    return side_by_side(gap_between(want, got))


@pytest.mark.parametrize(
    ("want", "got", "shown"),
    [
        # Not `{(6, 5): 1}` alone, as if the pair that is there were too much.
        ({(5, 6): 2, (6, 5): 1}, {(5, 6): 2}, ("{(5, 6): 2, (6, 5): 1}", "{(5, 6): 2}")),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, ("{'a': 1, 'b': 2}", "{'b': 2, 'c': 3}")),
        ({"a": 1, "b": 2}, {"b": 3, "a": 1}, ("{'b': 2}", "{'b': 3}")),
    ],
)
def test_of_short_dicts_with_other_keys_all_is_shown(want, got, shown):
    assert shown_of(want, got) == shown


def test_of_long_dicts_that_part_is_shown_where_a_key_is_missing():
    expected, actual = shown_of(LONG, {key: v for key, v in reversed(LONG.items()) if key != 50})
    assert "50: 2500" in expected and "51: 2601" in actual and "50: 2500" not in actual
    assert len(expected) < 70 and len(actual) < 70
