"""Messages on parameters that could not be given their values."""

import dataclasses

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import Observation, Outcome
from tensorgrade.judging.errors import lost_weights
from tensorgrade.messages.message import render
from tensorgrade.runner.steps import Load

SHAPES = {"first.weight": (2, 3), "rows.0.mix.w": (4,), "rows.0.mix.v": ()}


@pytest.fixture(scope="module")
def case():
    """A case that asks for weights in two parts of a module."""
    called = record("scale", "a/1", [call("scale", x=torch.ones(2, 3))])
    load = Load(on="module", weights={name: name for name in SHAPES})
    tensors = {name: torch.ones(shape) for name, shape in SHAPES.items()}
    return dataclasses.replace(
        called, steps=(load, *called.steps), tensors=called.tensors | tensors
    )


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({}, ""),
        (
            {"missing": ["first.weight"], "unexpected": ["first_.weight", "b"]},
            "the module has no parameter `first.weight`, so its values could not be set; "
            "it has `first_.weight`",
        ),
        (
            {"missing": ["rows.0.mix.w", "rows.0.mix.v"]},
            "torch finds no parameters in `rows`, so its weights could not be set",
        ),
        (
            {"misshapen": {"first.weight": [3, 2]}},
            "the parameter `first.weight` has shape (3, 2); (2, 3) is expected",
        ),
        (
            {"misshapen": {"first.bias": "none"}},
            "the parameter `first.bias` does not have the expected shape",
        ),
    ],
)
def test_a_lost_parameter_is_named(case, load, said):
    observed = Observation(Outcome.ANSWERED, facts={"load": load})
    assert render(lost_weights(case, observed, {"w", "v"})) == said


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (
            {"missing": ["rows.0.mix.w"], "unexpected": ["a.w", "a.v", "b"]},
            "a weight of `rows.0.mix` is missing (does `rows.0.mix` get all the arguments that it "
            "needs?); "
            "it has a weight of `a`, `b`",
        ),
        (
            {"misshapen": {"rows.0.mix.v": [3]}},
            "the weight of `rows.0.mix` has shape (3,); a single number is expected",
        ),
    ],
)
def test_a_parameter_that_learners_have_never_seen_is_not_named(case, load, said):
    observed = Observation(Outcome.ANSWERED, facts={"load": load})
    assert render(lost_weights(case, observed, {"w", "v"})) == said


def test_parts_that_share_weights_are_named_without_what_learners_have_never_seen(case):
    tied = {f"rows.{n}.mix.{one}": f"rows.0.mix.{one}" for one in ("w", "v") for n in (1, 2)}
    observed = Observation(Outcome.ANSWERED, facts={"load": {"tied": tied}})
    said = "`rows.0.mix`, `rows.1.mix` and `rows.2.mix` are one and the same object"
    assert render(lost_weights(case, observed, {"w", "v"})).startswith(said)
    said = "`rows.0`, `rows.1` and `rows.2` are one and the same object"
    assert render(lost_weights(case, observed, {"mix.w", "mix.v"})).startswith(said)
