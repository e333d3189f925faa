"""A call's intermediate values are recorded with lines and inputs, within limits."""

import pytest
import torch

from tensorgrade.runner.tracing import MOST, StageRecorder

TEXT = """
def mix(x, w):
    queries = x @ w
    scores = queries @ x.T
    scores[0, 0] = 5.0
    scores.mul_(2)
    return scores.softmax(dim=-1)

def endless(x):
    for _ in range(1000):
        x = x + 1
    return x
"""


def recorded(name, *arguments):
    """A recorder that has seen one call of the text above."""
    space = {}
    exec(compile(TEXT, "learner.py", "exec"), space)
    with StageRecorder("learner.py") as recorder:
        back = space[name](*arguments)
    return recorder, recorder.told(back), back


def test_each_operation_has_its_line_its_inputs_and_its_names():
    recorder, told, back = recorded("mix", torch.randn(4, 3), torch.randn(3, 3))
    made = [(lines[0], name) for lines, name, _, _ in told["steps"] if lines]
    assert made == [
        (3, "__matmul__" if made[0][1] == "__matmul__" else "matmul"),
        (4, "T"),
        (4, made[2][1]),
        (5, "__setitem__"),
        (6, "mul_"),
        (7, "softmax"),
    ]
    places = [at for at, step in enumerate(told["steps"]) if step[0]]
    queries, turned, scores, filled, doubled, weights = places
    steps = told["steps"]
    assert "queries" in steps[queries][3] and "scores" in steps[scores][3]
    assert steps[scores][2] == [queries, turned] and steps[filled][2][0] == scores
    assert steps[doubled][2][0] == filled and steps[weights][2][0] == doubled
    assert told["returned"] == [weights] and torch.equal(recorder.values[weights], back)


def test_a_value_is_kept_as_it_was_before_it_changed_in_place():
    recorder, told, _ = recorded("mix", torch.randn(4, 3), torch.randn(3, 3))
    filled = next(at for at, step in enumerate(told["steps"]) if step[1] == "__setitem__")
    (scores, *_) = told["steps"][filled][2]
    assert recorder.values[filled][0, 0] == 5 != recorder.values[scores][0, 0]
    doubled = next(at for at, step in enumerate(told["steps"]) if step[1] == "mul_")
    assert torch.equal(recorder.values[doubled], recorder.values[filled] * 2)


def test_a_long_way_and_large_values_are_cut():
    recorder, told, _ = recorded("endless", torch.zeros(2))
    assert len(told["steps"]) == MOST == len(recorder.values)
    recorder, told, _ = recorded("mix", torch.randn(100, 3), torch.randn(3, 3))
    assert any(value is None for value in recorder.values)
    assert all(value is None or value.numel() <= 4096 for value in recorder.values)


def test_memory_that_nothing_was_written_to_is_no_value():
    with StageRecorder("learner.py") as recorder:
        layer = torch.nn.Linear(3, 2)  # made empty, then filled
        table = torch.empty(2, 3)
        turned = table.T
        table[:] = layer.weight
    values = [value for value in recorder.values if value is not None]
    assert all(value.abs().max() < 1 for value in values)
    assert recorder.values[recorder.place_of(turned)] is not None
    told = [
        (step[1], value is None)
        for step, value in zip(recorder.steps, recorder.values, strict=True)
    ]
    assert ("empty", False) not in told and ("T", True) in told and ("__setitem__", False) in told


def test_inference_and_vmap_are_recorded_like_everything_else():
    with StageRecorder("learner.py") as recorder:
        with torch.inference_mode():
            torch.ones(2) + 1
        torch.vmap(lambda row: row.softmax(dim=-1))(torch.eye(3))
    assert len(recorder.steps) == len(recorder.values) > 1


LEAVES = """
kept = []

def leaves(x):
    doubled = x * 2
    x + 1
    kept.append(x + 3)
    named = x + 4
    x.clone().mul_(5)
    if (x.sum() > 0) and doubled.shape:
        x = x + 6
    return x
"""


def test_what_nothing_is_done_with_is_reported():
    space = {}
    exec(compile(LEAVES, "learner.py", "exec"), space)
    with StageRecorder("learner.py") as recorder:
        back = space["leaves"](torch.ones(2))
    told = recorder.told(back)
    assert [told["steps"][at][0] for at in told["unused"]] == [[6], [8]]


def test_what_went_into_the_operation_that_failed_is_reported():
    x, space = torch.randn(4, 3), {}
    exec(compile(TEXT + FAILS, "learner.py", "exec"), space)
    for name, count in (("fails", 2), ("goes_on", 0)):
        with pytest.raises((RuntimeError, KeyError)), StageRecorder("learner.py") as recorder:
            space[name](x)
        told = recorder.told(None)
        assert len(told["failed"]) == count and len(told["raised"]) == 2 - (count == 0), told


FAILS = """
def fails(x):
    return mix(x, x)

def goes_on(x):
    try:
        x @ x
    except RuntimeError:
        pass
    return {}[0]
"""
