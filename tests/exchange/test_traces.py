"""Traces: forged ones are empty, and what is stored of the solution's shows no code."""

import json

import pytest
import torch
from safetensors.torch import save

from tensorgrade.author.recording.casebook import recorded_cases
from tensorgrade.author.recording.references import observe, traces_of
from tensorgrade.course import CourseError
from tensorgrade.exchange.observation import Observation
from tensorgrade.exchange.references import References, load_references, save_references
from tensorgrade.exchange.traces import Trace, read_trace

CHAPTER, NAME = "ch2_self_attention", "scaled_dot_product_attention"


TOLD = {"steps": [[[1, 5], "add", [], ["x"]]], "returned": [0], "last": 4, "raised": [3]}
TOLD |= {"failed": [], "cut": False}


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
        ("raised", [3, "4"]),
        ("last", -4),
    ],
)
def test_a_forged_trace_is_empty(name, forged):
    trace = read_trace(Observation(facts={"stages": TOLD}))
    assert (trace.returned, trace.last, trace.raised) == ((0,), 4, (3,))
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
