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


@pytest.mark.parametrize(
    ("name", "function", "sentence"),
    [
        ("scale", "mix", "this call does not pass `scale`, so it is None. What should happen"),
        ("scale", "forward", "this call does not pass `scale`, so it is None. What should happen"),
        ("scale", "inner", "on that line, `scale` is None"),
        ("x", "mix", "on that line, `x` is None"),
    ],
)
def test_a_name_without_a_value_is_reported_and_whether_the_call_leaves_it_out(
    name, function, sentence
):
    text = "unsupported operand type(s) for *: 'NoneType' and 'int'"
    error = CaughtError("TypeError", text, 3, f"{name} * 2", function, definition="mix")
    assert sentence in said_on(dataclasses.replace(error, empty=(name,)))
    for other in (
        dataclasses.replace(error, empty=(name, "mask")),
        dataclasses.replace(error, empty=(name,), text="unsupported operand type(s)"),
    ):
        assert "is None" not in said_on(other)


def test_dtypes_are_listed_if_the_error_is_about_two_of_them():
    text = "expected m1 and m2 to have the same dtype, but got: float != double"
    error = CaughtError("RuntimeError", text, dtypes={"x": "float32", "w": "float64"})
    assert "`x` is float32 and `w` is float64; they have to be" in said_on(error)
    for other in (
        dataclasses.replace(error, text="a message on something else"),
        dataclasses.replace(error, dtypes={"x": "float32", "w": "float32"}),
    ):
        assert "they have to be of the same dtype" not in said_on(other)
