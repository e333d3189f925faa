"""A call's intermediate values are recorded with lines and inputs, within limits."""

import torch

from tensorgrade.runner.tracing import MOST, Recorder

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
    recorder = Recorder("learner.py")
    with recorder.during({}, {}):
        back = space[name](*arguments)
    return recorder, recorder.told(back), back


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


def test_memory_that_nothing_has_written_is_not_recorded():
    recorder = Recorder("learner.py")
    with recorder.during({}, {}):
        torch.nn.Linear(2, 2, bias=False)
    values = [(step[1], value) for step, value in zip(recorder.steps, recorder.values, strict=True)]
    assert {name for name, value in values if value is None} == {"empty", "given"}
    assert {name for name, value in values if value is not None} == {"kaiming_uniform_"}
