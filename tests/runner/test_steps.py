"""Each verb is a dataclass that can be sent and decoded, and describes itself in words."""

import json

import pytest

from tensorgrade.runner.steps import (
    Call,
    Construct,
    Describe,
    Duplicate,
    Load,
    Mode,
    Move,
    Read,
    Restore,
    decode,
)

X = {"x": {"tensor": "0.x"}}
STEPS = [
    (Construct(name="Layer", result="object0", dtype="float64", arguments={"size": 2}), "Layer(…)"),
    (Duplicate(on="object0", result="object1"), ""),
    (Load(on="object1", weights={"w": "object1.2.w"}), ""),
    (Restore(on="object0", source="object1"), ""),
    (Mode(on="object0", training=True), ".train()"),
    (Mode(on="object0", training=False), ".eval()"),
    (Describe(on="object0", state=True), ""),
    (Read(on="object0", path="ids", result="ids"), ""),
    (Move(on="object0", arguments=X), "its forward(…) on another device"),
    (Call(name="f", arguments=X, gradient=["result.gradient"], seed=None), "f(…)"),
    (Call(on="object0", path="encode", result="ids"), ".encode(…)"),
    (Call(on="object0", constants=["x"], stages=True), "its forward(…)"),
]


@pytest.mark.parametrize("step, said", STEPS)
def test_a_step_survives_being_sent(step, said):
    assert decode(json.loads(json.dumps(step.encode()))) == step
    assert step.describe("…") == said
    with pytest.raises(TypeError, match="no_such_setting"):
        decode(step.encode() | {"no_such_setting": True})
