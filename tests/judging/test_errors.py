"""Messages on cases without a result: parameters that were not set, and errors."""

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from tensorgrade.author import call
from tensorgrade.exchange.cases import record
from tensorgrade.exchange.observation import CaughtError, Loaded, Observation, Outcome
from tensorgrade.exchange.references import References
from tensorgrade.judging.errors import lost_weights, why_it_raised
from tensorgrade.messages.message import render
from tensorgrade.runner.steps import Step

SHAPES = {"first.weight": (2, 3), "rows.0.mix.w": (4,), "rows.0.mix.v": ()}


@pytest.fixture(scope="module")
def case():
    """A case that asks for weights in two parts of a module."""
    called = record("scale", "a/1", [call("scale", x=torch.ones(2, 3))])
    load = Step("load", on="module", options={"weights": {name: name for name in SHAPES}})
    tensors = {name: torch.ones(shape) for name, shape in SHAPES.items()}
    return dataclasses.replace(
        called, steps=(load, *called.steps), tensors=called.tensors | tensors
    )


@pytest.mark.parametrize(
    ("load", "said"),
    [
        ({}, ""),
        # Names that learners have never seen are left out.
        (
            {"missing": ["rows.0.mix.w"], "unexpected": ["a.w", "a.v", "b"]},
            "a weight of `rows.0.mix` is missing (does `rows.0.mix` get all the arguments that it "
            "needs?); it has a weight of `a`, `b`",
        ),
        (
            {"tied": {"rows.1.mix.w": "rows.0.mix.w", "rows.1.mix.v": "rows.0.mix.v"}},
            "`rows.0.mix` and `rows.1.mix` are one and the same object",
        ),
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
    found = render(lost_weights(case, observed, {"w", "v"}))
    assert found.startswith(said) and bool(found) == bool(said)


def said_on(error: CaughtError) -> str:
    """Return the message on an error in the first of two cases, which does not pass `scale`."""
    cases = [record("mix", f"a/{n}", [call("mix", **given)]) for n, given in enumerate(CALLS)]
    references = References("ch1", False, tuple((one, Observation()) for one in cases))
    attempt = SimpleNamespace(references=references, loaded=Loaded(), place="line {}".format)
    return render(why_it_raised(attempt, "mix", cases[0], error).problem)


CALLS = [{"x": torch.ones(2)}, {"x": torch.ones(2), "scale": 2.0}]
MEETS = "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"


@pytest.mark.parametrize(
    ("sizes", "short"),
    [
        ({"scores": (2, 3, 4), "total": (2, 3), "n": 3}, "total"),
        ({"scores": (2, 3, 4), "total": (2, 3), "bias": (4,)}, "total"),
        ({"scores": (2, 3, 4), "total": (2, 3), "largest": (2, 3)}, ""),
        ({"scores": (2, 3, 4), "total": (2, 5)}, ""),
        ({"scores": (2, 3, 5), "total": (2, 3)}, ""),
    ],
)
def test_a_lost_last_dimension_is_named_if_only_one_pair_of_shapes_fits(sizes, short):
    said = said_on(CaughtError("RuntimeError", MEETS, 3, "scores - total", sizes=sizes))
    assert ("torch compares shapes from the right" in said) == bool(short)
    assert not short or said.endswith(
        f"Does `{short}` need one more dimension at its end, of size 1?"
    )
