"""Values are compared with those of right answers; what is stored of these shows no code."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save

from tensorgrade.author.recording.casebook import recorded_cases
from tensorgrade.author.recording.references import observe, traces_of
from tensorgrade.course import CourseError
from tensorgrade.exchange.observation import Observation
from tensorgrade.exchange.references import References, load_references, save_references
from tensorgrade.exchange.traces import Stage, Trace, read_trace
from tensorgrade.judging.right_values import Rows, close, right_values
from tensorgrade.judging.wrong_value import hides, instead, without_factor
from tensorgrade.messages.divergence import HidesNothing, NotLowEnough
from tensorgrade.messages.message import render
from tensorgrade.messages.remarks import (
    Compared,
    HoldsInfinities,
    LooksLike,
    NumbersInOtherPlaces,
    TimesFactor,
)

CHAPTER, NAME = "ch2_self_attention", "scaled_dot_product_attention"


TOLD = {"steps": [[[1, 5], "add", [], ["x"]]], "returned": [0], "last": 4, "raised": [3]}
TOLD |= {"failed": [], "unused": [0], "cut": False}


@pytest.mark.parametrize(
    "name, forged",
    [
        ("steps", "long"),
        ("steps", [[[1], "add", [0], []]]),  # made from itself
        ("steps", [[[1], "add", [-1], []]]),
        ("steps", [[[-1], "add", [], []]]),
        ("steps", [[1, "add", [], []]]),
        ("steps", [[[1] * 9, "add", [], []]]),  # within more calls than are reported
        ("steps", [[["1"], "add", [], []]]),
        ("steps", [[[1], "add", []]]),
        ("steps", [[[1], 7, [], []]]),
        ("steps", [7]),
        ("returned", [0, 1]),
        ("failed", [-1]),
        ("unused", ["a"]),
        ("raised", [3, "4"]),
        ("last", -4),
    ],
)
def test_a_forged_trace_is_empty(name, forged):
    trace = read_trace(Observation(facts={"stages": TOLD}))
    assert (trace.returned, trace.last, trace.raised, trace.unused) == ((0,), 4, (3,), (0,))
    assert (trace.stages[0].line, trace.stages[0].callers) == (1, (5,))
    assert read_trace(Observation(facts={"stages": TOLD | {name: forged}})) == Trace()


def test_traces_are_stored_without_lines_operations_or_a_name_of_the_code(project, tmp_path):
    case = recorded_cases(project, CHAPTER, NAME, False)[0]
    source = project.solution(CHAPTER).read_text(encoding="utf-8")
    trace = traces_of(project, CHAPTER, NAME, source, [case])[case.id]
    (expected,) = observe(project, CHAPTER, source, [case])
    references = References(CHAPTER, False, ((case, expected),), {case.id: trace})
    save_references(tmp_path / "r.safetensors", references)
    content = (tmp_path / "r.safetensors").read_bytes()
    for word in (b"softmax", b"matmul", b"transpose", b"d_k**", b"attn_scores"):
        assert word not in content
    back = load_references(tmp_path / "r.safetensors").traces[case.id]
    assert all(stage.line == 0 and not stage.operation for stage in back.stages)
    for one, other in zip(trace.stages, back.stages, strict=True):
        assert one.names == other.names and torch.allclose(one.value.float(), other.value)


@pytest.mark.parametrize("cases", [[], [{"exercise": "f", "name": "a", "id": "a"}]])
def test_references_of_an_older_version_ask_for_a_build(tmp_path, cases):
    header = {"chapter": CHAPTER, "hidden": False, "cases": cases}
    path = tmp_path / "r.safetensors"
    path.write_bytes(save({}, metadata={"references": json.dumps(header)}))
    with pytest.raises(CourseError, match="older format"):
        load_references(path)


@pytest.mark.slow
def test_hidden_references_have_no_traces(project):
    for chapter in project.course.chapters:
        path = project.graders / "references" / f"{chapter.name}.safetensors"
        assert load_references(path).traces == {}


@given(st.integers(0, 1000))
def test_rows_are_compared_as_one_value_with_another(seed):
    chance, inf = torch.Generator().manual_seed(seed), torch.inf
    value = torch.randn(7, generator=chance).double()
    hidden, far = value.clone(), value.clone()
    hidden[3], far[0] = -inf, value[0] + 1e-3
    others = [value, value * (1 + 1e-6), hidden, far, value + 1e-7, torch.full((7,), inf).double()]
    rows = Rows(list(enumerate(others)))
    for one in others:
        assert rows.close_to(one) == [at for at, other in enumerate(others) if close(one, other)]


def test_only_factors_of_right_answers_scale_a_value_and_each_is_listed_once():
    value = torch.tensor([1.0, -2.0, 4.0])
    made = [(value, ()), (2 * value, (0,)), (value * 6, (1,)), (value * 12, (2,))]
    right = right_values(Trace(tuple(Stage(0, "mul", since, (), one) for one, since in made)))
    assert right.factors == pytest.approx([2, 2**0.5, 3, 3**0.5])
    assert right.scaled(3 * value) and not right.scaled(2.5 * value)


def test_what_masked_scores_show():
    right = torch.tensor([[1.0, -torch.inf, 3.0], [2.0, -torch.inf, 0.5]])
    low = right.masked_fill(right.isinf(), -9.0)
    assert hides(low, right) == NotLowEnough(-9.0) and hides(low.softmax(dim=-1), right) is None
    assert hides(torch.where(right.isinf(), torch.rand(2, 3), right), right) == HidesNothing()
    weights = torch.tensor([[0.5, 0.0, 0.5], [0.5, 0.0, 0.5]])
    assert instead(None, right, weights) is None
    assert instead(None, -right, weights) == HoldsInfinities()


@pytest.mark.parametrize(
    "factor, shown", [(1.0042, "1.004"), (0.9932, "0.9932"), (0.99, "a con"), (2**0.5, "a con")]
)
def test_a_factor_that_differs_from_case_to_case_is_not_reported(factor, shown):
    origin = LooksLike(2, NumbersInOtherPlaces(), "sqrt(2)")
    said = render(without_factor(TimesFactor(Compared.ON_THE_WAY, factor, origin)))
    assert f"times {shown}" in said and "sqrt" not in said
