"""Several known mistakes cost at least as much as one of them, and at most their sum."""

import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.recognition.mistakes import EditError, Mistake, make

TINY = 1e-6
NAMELESS = {"trained_loss"}  # it passes earlier mistakes on


class Sample(NamedTuple):
    """Mistakes that can be made together: the text with each of them alone, and with all."""

    chapter: str
    exercise: str
    alone: dict[str, str]
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
        yield Sample(chapter, exercise, alone(text, exercise, chosen), together)


def alone(text: str, exercise: str, mistakes: list[Mistake]) -> dict[str, str]:
    """Return a text with each of these mistakes alone, by their names."""
    return {one.name: make(text, exercise, [one]) for one in mistakes}


def complaint(judged, sample: Sample) -> str:
    """Return what contradicts the rule in one sample, empty if nothing does.

    Mistakes that cancel give a right answer. If only some are named, the others change nothing
    beside them, so no result shows their deduction.
    """
    where = sample.chapter, sample.exercise
    found = judged(*where, sample.together, told=False)
    if found.points == found.max_points:
        return ""
    costs = {name: cost_of(judged(*where, text, told=False)) for name, text in sample.alone.items()}
    shown = set(found.mistakes) if costs.keys() > set(found.mistakes) else set()
    cost, dearest = cost_of(found), max(costs[name] for name in shown or costs)
    if cost > sum(costs.values()) + TINY or cost < dearest - TINY:
        return f"{sample.exercise}: {cost:g} for {found.mistakes}, alone {costs}"
    return ""


def cost_of(verdict: Verdict) -> float:
    """Return how many points a verdict takes."""
    return verdict.max_points - verdict.points


@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", [2, 3])
def test_several_mistakes_cost_at_most_what_they_cost_alone(project, judged, size):
    found = [complaint(judged, sample) for sample in samples(project, 7, 6, size)]
    assert not [*filter(None, found)]
