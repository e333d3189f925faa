"""Known mistakes, alone and together: what they cost, and which names they get."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, combinations, zip_longest
from random import Random
from typing import NamedTuple

import pytest

from tensorgrade.author.mistakes import known, told_apart
from tensorgrade.recognition.edits import EditError, make

from ..answers.reader import solution, twins
from ..support import ROOT, Judge, Project, Verdict, amount, known_mistakes, some, with_mistakes

pytestmark = pytest.mark.proof
PROJECT = Project(ROOT)
LEAST, MOST, TINY = 0.1, 0.5, 1e-6  # shares of an exercise's points
# They leave the values right, and cost what their checks are worth.
FACTS_ONLY = {"exponential_in_place", "softmax_in_place", "changes_scores_in_place"}
FACTS_ONLY |= {"input_overwritten", "mask_as_plain_attribute", "mask_as_parameter"}
FACTS_ONLY |= {"loop_over_tokens", "heads_in_a_loop", "whole_table_made"}
FACTS_ONLY |= {"num_heads_unchecked", "groups_unchecked", "gqa_heads_unchecked"}
NOTHING_MADE = {"super_without_brackets", "super_init_not_called"}
# The first part of a block is a LayerNorm, and that one cannot be made either.
FAILS_EARLIER = {("TransformerBlock", "super_init_not_called")}
# Found, but not named, beside this mistake of an earlier exercise: a known gap.
HIDDEN_BY = {("block_input_overwritten", "scale_starts_at_zero")}


def test_each_known_mistake_costs_a_tenth_to_a_half(judge: Judge):
    """All of it if no object can be made, if every call ends in an error, or as the course says."""
    for chapter, exercise, name in some(known_mistakes(PROJECT), 12):
        text = with_mistakes(PROJECT, chapter, exercise, name)
        found = judge(chapter, exercise, text, explain=False)
        prices = {one.name: one.price for one in known(PROJECT, exercise)}
        whole = name in NOTHING_MADE or prices.get(name) == 1
        most = 1 if whole or found.status == "error" else MOST
        least = 0 if name in FACTS_ONLY else LEAST
        assert found.points < found.max_points, (name, found)
        assert least - TINY <= cost_of(found) / found.max_points <= most + TINY, (name, found)


@pytest.mark.parametrize("number", range(6))
def test_a_mistake_in_each_exercise_of_a_file_is_caught_and_named(judge: Judge, number: int):
    """Other mistakes in the file do not change the result."""
    chapter = PROJECT.course.chapters[number]
    columns = [mistakes_in(exercise.name) for exercise in chapter.exercises]
    names = [exercise.name for exercise in chapter.exercises]
    for row in some(zip_longest(*columns), 1):
        made = dict(zip(names, row, strict=True))
        text = file_with(chapter.name, {name: [one] for name, one in made.items() if one})
        for exercise, found in judge.chapter(chapter.name, text, explain=False).items():
            wrong = made[exercise]
            if wrong is None:
                assert found.status == "passed", found
                continue
            assert found.points < found.max_points, (wrong, found)
            hidden = any((wrong, other) in HIDDEN_BY for other in row)
            if not (hidden or (exercise, wrong) in FAILS_EARLIER):
                assert set(found.mistakes) <= {wrong} | twins(exercise, wrong), (wrong, found)
                assert found.mistakes, (wrong, found)


@pytest.mark.parametrize("draw", range(2))
def test_any_mistakes_together_are_judged_and_the_same_again(judge: Judge, draw: int):
    chance = Random(draw)
    for turn, chapter in enumerate(some(PROJECT.course.chapters, 3)):
        text = file_with(
            chapter.name, {one.name: drawn(one.name, chance) for one in chapter.exercises}
        )
        verdicts = judge.chapter(chapter.name, text)
        assert [*verdicts] == [one.name for one in chapter.exercises]
        for one in verdicts.values():
            assert 0 <= one.points <= one.max_points and one.message, one
        if turn == draw:  # a grade does not depend on chance
            assert judge.chapter(chapter.name, text) == verdicts


def drawn(exercise: str, chance: Random) -> list[str]:
    """Return up to two of an exercise's mistakes."""
    known = mistakes_in(exercise)
    return chance.sample(known, min(len(known), chance.choice([0, 1, 1, 1, 2])))


def mistakes_in(exercise: str) -> list[str]:
    """Return the names of an exercise's mistakes."""
    return [one.name for one in told_apart(PROJECT, exercise)]


def file_with(chapter: str, made: dict[str, list[str]]) -> str:
    """Return a chapter's file with mistakes in its exercises, as far as they can be combined."""
    text = solution(chapter)
    for exercise, names in made.items():
        text = with_edits(text, exercise, names) or text
    return text


def with_edits(text: str, exercise: str, names: list[str]) -> str:
    """Return a text with mistakes in one exercise; "" if they change the same piece of it."""
    edits = {one.name: one.edits for one in known(PROJECT, exercise)}
    try:
        return make(text, exercise, chain(*(edits[name] for name in names)))
    except EditError:
        return ""


class Sample(NamedTuple):
    """Mistakes that can be made together: the texts with some of them, and with all."""

    chapter: str
    exercise: str
    some: dict[tuple[str, ...], str]
    together: str


def samples(seed: int, count: int, size: int) -> Iterator[Sample]:
    """Yield random sets of mistakes of random exercises, in the course's order."""
    chance = Random(seed)
    exercises = [
        (chapter.name, exercise.name)
        for chapter in PROJECT.course.chapters
        for exercise in chapter.exercises
        if mistakes_in(exercise.name)
    ]
    while count:
        chapter, exercise = chance.choice(exercises)
        known = mistakes_in(exercise)
        chosen = sorted(chance.sample(known, size), key=known.index)
        text = solution(chapter)
        if together := with_edits(text, exercise, chosen):
            parts = chain(*(combinations(chosen, fewer) for fewer in range(1, size)))
            made = {names: with_edits(text, exercise, [*names]) for names in parts}
            yield Sample(chapter, exercise, made, together)
            count -= 1


def complaint(points: Callable[[str, str, str], Verdict], sample: Sample) -> str:
    """Return what contradicts the rule in one sample, empty if nothing does.

    Mistakes that cancel give a right answer. If only some are named, the others change nothing
    beside them, so no result shows their deduction.
    """
    where = sample.chapter, sample.exercise
    found = points(*where, sample.together)
    if found.points == found.max_points:
        return ""
    costs = {names: cost_of(points(*where, text)) for names, text in sample.some.items()}
    alone = {names[0]: cost for names, cost in costs.items() if len(names) == 1}
    shown = set(found.mistakes) if alone.keys() > set(found.mistakes) else set()
    of_shown = [cost for names, cost in costs.items() if set(names) <= (shown or alone.keys())]
    cost = cost_of(found)
    if cost > sum(alone.values()) + TINY or cost < max(of_shown) - TINY:
        return f"{sample.exercise}: {cost:g} for {found.mistakes}, some of them {costs}"
    return ""


def cost_of(verdict: Verdict) -> float:
    """Return how many points a verdict takes."""
    return verdict.max_points - verdict.points


@pytest.mark.parametrize("size, share", [(2, 0.01), (3, 0.05)])
def test_several_mistakes_cost_at_least_as_much_as_some_and_at_most_their_sum(
    judge: Judge, size: int, share: float
):
    """A share of the sets may break the rule: if none is named, the checks alone decide.

    Sets of three are named less often than pairs.
    """
    points = cache(lambda *asked: judge(*asked, explain=False))
    count = amount(1)
    found = [*filter(None, (complaint(points, one) for one in samples(7 + size, count, size)))]
    print(f"{len(found)} of {count} sets of {size} break the rule", *found, sep="\n")
    assert len(found) <= max(1, share * count), found
