"""Several known mistakes cost at least as much as some of them, and at most their sum."""

import os
import random
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, combinations
from typing import NamedTuple

import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.recognition.mistakes import EditError, Mistake, make

TINY = 1e-6
MORE = int(os.environ.get("SEVERAL_MISTAKES", "0"))  # further pairs, and as many triples
NAMELESS = {"trained_loss"}  # it passes earlier mistakes on


class Sample(NamedTuple):
    """Mistakes that can be made together: the texts with some of them, and with all."""

    chapter: str
    exercise: str
    some: dict[tuple[str, ...], str]
    together: str


def samples(project, seed: int, count: int, size: int) -> Iterator[Sample]:
    """Yield random sets of mistakes of random exercises, made together in the course's order."""
    chance = random.Random(seed)
    exercises = [
        (chapter.name, exercise.name)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        if exercise.name not in NAMELESS and not project.bug(chapter.name, exercise.name)
    ]
    while count:
        chapter, exercise = chance.choice(exercises)
        known = [m for m in project.mistakes if exercise in m.edits and not m.same_as]
        chosen = sorted(chance.sample(known, size), key=known.index)
        text = project.solution(chapter).read_text(encoding="utf-8")
        try:
            together = make(text, exercise, chosen)
        except EditError:  # they change the same piece of the solution
            continue
        count -= 1
        yield Sample(chapter, exercise, with_some(text, exercise, chosen), together)


def with_some(text: str, exercise: str, mistakes: list[Mistake]) -> dict[tuple[str, ...], str]:
    """Return a text with each of these mistakes alone, and with all but some, by their names."""
    parts = chain(*(combinations(mistakes, size) for size in range(1, len(mistakes))))
    return {tuple(m.name for m in some): make(text, exercise, [*some]) for some in parts}


@pytest.fixture(scope="module")
def points(judged) -> Callable[[str, str, str], Verdict]:
    """A function that grades one exercise of a text without an explanation, each text once.

    Many samples have a mistake in common.
    """
    return cache(lambda chapter, exercise, text: judged(chapter, exercise, text, told=False))


def complaint(points, sample: Sample) -> str:
    """Return what contradicts the rule in one sample, empty if nothing does.

    Mistakes that cancel give a right answer. If only some are named, the others change nothing
    beside them, so no result shows their deduction.
    """
    where = sample.chapter, sample.exercise
    found = points(*where, sample.together)
    if found.points == found.max_points:
        return ""
    costs = {some: cost_of(points(*where, text)) for some, text in sample.some.items()}
    alone = {some[0]: cost for some, cost in costs.items() if len(some) == 1}
    shown = set(found.mistakes) if alone.keys() > set(found.mistakes) else set()
    of_shown = [cost for some, cost in costs.items() if set(some) <= (shown or alone.keys())]
    cost = cost_of(found)
    if cost > sum(alone.values()) + TINY or cost < max(of_shown) - TINY:
        return f"{sample.exercise}: {cost:g} for {found.mistakes}, some of them {costs}"
    return ""


def cost_of(verdict: Verdict) -> float:
    """Return how many points a verdict takes."""
    return verdict.max_points - verdict.points


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", [2, 3])
def test_several_mistakes_cost_at_most_what_they_cost_alone(project, points, size):
    found = [complaint(points, sample) for sample in samples(project, 7, 6, size)]
    assert not [*filter(None, found)]


# In 70 pairs and 30 triples: if several sets of mistakes give the same results, or if every call
# raises, the checks alone may decide.
UNNAMED = 1


@pytest.mark.slow
@pytest.mark.timeout(36000)
@pytest.mark.skipif(not MORE, reason="SEVERAL_MISTAKES sets how many")
@pytest.mark.parametrize("size", [2, 3])
def test_of_any_number_of_sets_one_in_a_hundred_costs_more(project, points, size):
    drawn = samples(project, 11 + MORE, MORE, size)
    found = [*filter(None, (complaint(points, sample) for sample in drawn))]
    print(f"{len(found)} of {MORE} sets of {size} break the rule", *found, sep="\n")
    assert len(found) <= MORE / 100, found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_of_a_hundred_pairs_and_triples_one_costs_more_than_its_mistakes_alone(project, points):
    drawn = chain(samples(project, 7, 70, 2), samples(project, 7, 30, 3))
    found = [*filter(None, (complaint(points, sample) for sample in drawn))]
    assert len(found) <= UNNAMED, found
