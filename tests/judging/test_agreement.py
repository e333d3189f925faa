"""Agreement of tensors, against torch's own comparison as an outside oracle."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tensorgrade.course import Tolerance
from tensorgrade.judging.tensor_comparison import disagreement

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
