"""Messages on names and orders that differ from the stub's."""

from tensorgrade.exchange.text import LONGEST_MESSAGE
from tensorgrade.judging.learner_names import Names
from tensorgrade.judging.parameter_order import Order
from tensorgrade.messages.message import render, sentence

MANY = Names({f"name_{number}": f"own_{number}" for number in range(40)})
SWAPPED = Order(("x", "d", "n"), ("x", "n", "d"), {"x": "x", "d": "d", "n": "n"})


def test_of_many_names_the_first_are_reported_and_how_many_more_there_are():
    said = render(MANY.sentence)
    assert said.startswith("`own_0` should be called `name_0`, `own_1` should be `name_1`, ")
    told = said.count("`own_")
    assert said.endswith(f" and {40 - told} more") and 5 < told < 20


def test_a_very_long_name_is_reported_all_the_same():
    said = render(Names({"a" * 400: "b"}).sentence)
    assert said.startswith("`b` should be called `aaaa") and len(said) == LONGEST_MESSAGE


def test_a_finding_says_what_names_cost_and_if_nothing_else_is_wrong():
    names = Names({"width": "w"}, (SWAPPED,))
    differ = "he given order is `d, n`; yours is `n, d`; `w` should be called `width`"
    half, whole = (sentence(names.finding(*one).diagnosis.problem) for one in ((0.5, 0), (1, 1)))
    assert half == f"T{differ} (costs 0.5 points)."
    assert whole == f"Right. T{differ} (costs 1 point)."


def test_nothing_is_said_of_names_that_are_the_stubs():
    assert Names().sentence is None and not Names().differ
