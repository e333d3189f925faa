"""Random items of a review: each fails its checks, and the right fix passes them and is small.

Mistake and exercise are chosen at random among all that the kit's fingerprints name.
ANY_REVIEW_ITEMS=1000 in the environment makes so many, and not a few; ANY_SEED chooses others.
"""

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tensorgrade.attempts.results import State, state_of
from tensorgrade.learner.commands.review_items import Item, Workshop
from tensorgrade.practice.variants import plain

from ..kits import unpacked

ITEMS = int(os.environ.get("ANY_REVIEW_ITEMS", "3"))
SEED = int(os.environ.get("ANY_SEED", "1"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(max(300, 60 * ITEMS))]


@pytest.fixture(scope="module")
def kit(project, tmp_path_factory):
    """A kit in which all chapters are solved."""
    chapters = tuple(chapter.name for chapter in project.course.chapters)
    return unpacked(project, tmp_path_factory.mktemp("kit"), chapters)


def choices(kit, workshop: Workshop) -> list[tuple[str, str, bool]]:
    """Return each mistake with each exercise that can have it, as the same exercise or another."""
    return [
        (mistake, exercise.name, same)
        for chapter in kit.course.chapters
        for exercise in chapter.exercises
        for mistake in sorted(mistakes_in(workshop, chapter.name, exercise.name))
        for same in (False, True)
    ]


def mistakes_in(workshop: Workshop, chapter: str, exercise: str) -> set[str]:
    """Return the mistakes that the fingerprints know in an exercise."""
    known = workshop.checker.maker.fingerprints(chapter).by_exercise.get(exercise, [])
    names = {name for one in known for name in one.mistakes}
    return {name for name in names if workshop.prints(chapter, exercise, name)}


def items(kit, chance: Random) -> Iterator[tuple[Workshop, Item | None]]:
    """Yield items at random; None for a mistake that no edit of the exercise makes."""
    workshop = Workshop(kit, chance)
    try:
        drawn = choices(kit, workshop)
        while True:
            chance.shuffle(drawn)
            for mistake, exercise, same in drawn:
                named_in = exercise if same else "another"
                yield workshop, workshop.item(mistake, named_in, [exercise])
    finally:
        workshop.close()


def faults(workshop: Workshop, item: Item) -> list[str]:
    """Return what is wrong with an item; [] for a good one."""
    right = plain(item.base, item.exercise)
    broken, _ = workshop.repaired(item, item.definition)
    fixed, small = workshop.repaired(item, right)
    found = []
    if state_of(broken[item.exercise]) != State.WRONG:
        found.append("it passes its checks")
    if state_of(fixed[item.exercise]) != State.DONE:
        found.append("the right fix fails")
    if not small:
        found.append("the right fix is not small")
    lines = item.definition.split("\n"), right.split("\n")
    if [one[: item.line - 1] for one in lines] != [lines[1][: item.line - 1]] * 2:
        found.append("the line is not the first that differs")
    return found


def test_random_items_fail_and_their_right_fix_passes(kit):
    wrong, count = [], Counter()
    for workshop, item in items(kit, Random(SEED)):
        count["items" if item else "without an item"] += 1
        if item and (found := faults(workshop, item)):
            wrong.append((found, item))
        if count["items"] >= ITEMS:
            break
    print(dict(count))
    assert not wrong, "\n\n".join(f"{found}\n{item}\n{item.definition}" for found, item in wrong)
