"""Traces: forged ones are empty, and what is stored of the solution's shows no code."""

import pytest
import torch

from tensorgrade.author.recording import Recording
from tensorgrade.course import CourseError
from tensorgrade.exchange.observation import Observation
from tensorgrade.exchange.references import References, load_references, stored_form
from tensorgrade.exchange.stored import store, stored_path
from tensorgrade.exchange.traces import Trace, read_trace

from ..hidden import opened
from ..support import stored_references

CHAPTER, NAME = "ch2_self_attention", "scaled_dot_product_attention"


TOLD = {"steps": [[[1, 5], "add", [], ["x"]]], "returned": [0], "last": 4, "raised": [3]}
TOLD |= {"failed": [], "cut": False}


@pytest.mark.parametrize(
    "name, forged",
    [
        ("steps", "long"),
        ("steps", [[[1], "add", [0], []]]),  # made from itself
        ("steps", [[[1], "add", [-1], []]]),
        ("steps", [[1, "add", [], []]]),
        ("steps", [[[1] * 9, "add", [], []]]),  # within more calls than are reported
        ("steps", [[["1"], "add", [], []]]),
        ("steps", [[[1], 7, [], []]]),
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
    """Those of hidden cases are not stored."""
    assert stored_references(project, CHAPTER).traces == {}
    recording = Recording(project, CHAPTER, NAME, False)
    case, expected = recording.references.entries[0]
    trace = recording.traces([case])[case.id]
    references = References(CHAPTER, False, ((case, expected),), {case.id: trace})
    path = stored_path(tmp_path, CHAPTER, NAME)
    store(path, "key", *stored_form(references))
    content = b"".join(opened({path.name: path.read_bytes()}).values())
    for word in (b"softmax", b"matmul", b"transpose", b"d_k**", b"attn_scores"):
        assert word not in content
    back = load_references(tmp_path, CHAPTER, [NAME]).traces[case.id]
    assert all(stage.line == 0 and not stage.operation for stage in back.stages)
    for one, other in zip(trace.stages, back.stages, strict=True):
        assert one.names == other.names and torch.allclose(one.value.float(), other.value)


@pytest.mark.parametrize("cases", [None, [{"exercise": "f", "name": "a", "id": "a"}]])
def test_references_in_another_format_ask_for_a_build(tmp_path, cases):
    store(stored_path(tmp_path, CHAPTER, NAME), "key", {"cases": cases}, {})
    with pytest.raises(CourseError, match="is damaged; `tensorgrade build`"):
        load_references(tmp_path, CHAPTER, [NAME])
