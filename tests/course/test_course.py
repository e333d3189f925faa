"""The course is the one that was agreed on: points, sizes, known mistakes."""

import pytest

from tensorgrade.author import Sizes
from tensorgrade.author.mistakes import every_mistake, known
from tensorgrade.course import Check

from ..support import Project

MODULES = {
    "SelfAttention_v1",
    "SelfAttention_v2",
    "CausalAttention",
    "MultiHeadAttentionWrapper",
    "MultiHeadAttention",
}


@pytest.mark.slow
def test_no_size_that_graders_draw_is_in_a_public_case(project: Project):
    for chapter in project.course.chapters:
        for name in (one.name for one in chapter.exercises):
            cases = project.grader(chapter.name, name).cases
            hidden = [{*sizes_of(cases(Sizes(name, True, seed)), name)} for seed in (1, 2, 3)]
            drawn = set.union(*hidden) - set.intersection(*hidden)
            assert not [
                one for one in drawn & {*sizes_of(cases(Sizes(name)), name)} if one[-1] > 1
            ], name


def sizes_of(cases, name: str):
    """Yield an argument, an axis and a size for all that calls pass; the axis of an int is -1."""
    for case in (one.recorded(name, 1) for one in cases):
        for key, tensor in case.tensors.items():
            if key.count(".") == 1:  # others are weights of layers
                yield from ((key.split(".")[1], *one) for one in enumerate(tensor.shape))
        for key, value in (one for call in case.calls for one in call.arguments.items()):
            if type(value) is int:
                yield key, -1, value


def test_every_exercise_has_many_known_mistakes_with_short_messages(project: Project):
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            found = known(project, exercise.name)
            if exercise.like:  # known mistakes, in other words
                assert found == []
                continue
            assert len(found) >= 10, exercise.name
            assert len(found) >= 12 or exercise.name not in MODULES, exercise.name
    for one in every_mistake(project):
        assert one.message.endswith((".", "?")) and 15 < len(one.message) < 240, one.name


def test_deductions_are_within_bounds(project: Project):
    prices = [one.price for one in every_mistake(project) if one.price is not None]
    assert prices.count(1) <= 6
    assert all(price == 1 or 0.1 <= price <= 0.5 for price in prices), prices


FACTS = {"keeps_inputs", "has_parameters", "has_buffer", "does_not_grow", "refuses"}
FACTS |= {"avoids", "makes_no_table"}


def test_facts_carry_at_most_a_tenth(project: Project):
    """Checks that trust the learner's process are worth little."""
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            points = sum(check.points for check in exercise.checks if rests_on_facts(check))
            assert points <= 0.1 * exercise.points + 1e-9, exercise.name


def rests_on_facts(check: Check) -> bool:
    """Return True if a check looks at facts."""
    names = [call.name for call in check.calls]
    return any(name in FACTS or name.startswith("avoids") for name in names)
