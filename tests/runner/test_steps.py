"""A step is data that can be sent, and describes itself in words."""

import json

import pytest

from tensorgrade.exchange.cases import Case, spoken
from tensorgrade.runner.step import Step

X = {"x": 2}
STEPS = [
    (Step("construct", "Layer", arguments=X, options={"seed": 3}, result="object0"), "Layer(x=2)"),
    (Step("duplicate", on="object0", result="object1"), ""),
    (Step("load", on="object1", options={"weights": {"w": "object1.2.w"}}), ""),
    (Step("restore", on="object0", options={"source": "object1"}), ""),
    (Step("mode", on="object0", options={"training": True}), ".train()"),
    (Step("mode", on="object0", options={"training": False}), ".eval()"),
    (Step("describe", on="object0", options={"state": True}, result="module"), ""),
    (Step("read", on="object0", path="ids", result="ids"), ""),
    (Step("move", on="object0", arguments=X), "its forward(x=2) on another device"),
    (Step("call", "f", arguments=X, options={"seed": None}), "f(x=2)"),
    (Step("call", on="object0", path="encode", arguments=X), ".encode(x=2)"),
    (Step("call", on="object0", arguments=X, stages=True), "its forward(x=2)"),
]


@pytest.mark.parametrize("step, said", STEPS)
def test_a_step_survives_being_sent(step, said):
    assert Step(**json.loads(json.dumps(step.encode()))) == step
    assert spoken(Case("f", "a/1", (step,), {})) == said
