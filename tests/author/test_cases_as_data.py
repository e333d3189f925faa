"""Cases are data: numbers are drawn in the order in which they stand, each drawing once."""

import pytest
import torch

from tensorgrade.author import (
    Draw,
    Sizes,
    call,
    case,
    computed,
    construct,
    describe,
    load,
    normal,
    seed_for,
    weights,
)
from tensorgrade.course import CourseError


def recorded(*steps, **settings):
    return case("group/one", *steps, **settings).recorded("f", 5)


def draw(dtype=torch.float64):
    """The numbers that the recorded case draws."""
    return Draw(seed_for(5, "f", "group/one"), dtype)


def test_numbers_are_drawn_in_the_order_in_which_they_stand_and_each_once():
    made, numbers = recorded(call(x=normal(2, 3), gradient=normal(4))), draw()
    assert made.tensors["0.x"].equal(numbers.value(normal(2, 3)))
    assert made.tensors["result.gradient"].equal(numbers.value(normal(4)))
    x = normal(3)
    made = recorded(call(x=x, result="a"), call(x=2 * x - 1, result="b"))
    assert made.tensors["1.x"].equal(2 * made.tensors["0.x"] - 1)
    made = recorded(call(x=computed(torch.softmax, normal(4), -1)), dtype=torch.float32)
    assert made.tensors["0.x"].equal(draw(torch.float32).value(normal(4)).softmax(-1))


def test_graders_draw_sizes_from_their_ranges_and_learners_small_ones():
    ranges = [(20, 22), (20, 22), (21, 22)]
    for hidden, allowed in ((True, range(20, 23)), (False, range(2, 8))):
        drawn = [Sizes("f", hidden, seed)(*ranges) for seed in range(9)]
        assert all(len({*sizes}) == 3 and {*sizes} <= {*allowed} for sizes in drawn), drawn
        assert len({*map(tuple, drawn)}) > 1
    numbers = {
        Sizes(name, seed=seed).chance(which).random()
        for name in "fg"
        for seed in (1, 2)
        for which in "ab"
    }
    assert len(numbers) == 8, "each exercise, seed and purpose has its own"


def test_a_call_goes_to_the_object_made_last_or_to_the_exercise():
    function = recorded(call(x=1))
    assert function.steps[0].name == "f"
    v2, v1 = construct("V2", given=True), construct("V1", given=True)
    steps = recorded(
        v2, v1, load({"w": weights(2)}, on=v2), call(x=1), call("f", a=v2), describe("v2", on=v2)
    ).steps
    targets = [step.on for step in steps]
    assert targets == ["", "", "object0", "object1", "", "object0"]
    assert steps[4].arguments == {"a": {"object": "object0"}}
    with pytest.raises(CourseError, match="f, case group/one: `load`"):
        recorded(load({"w": weights(2)}), construct("V1"))
