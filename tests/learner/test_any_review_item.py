"""Random items of a review: each fails its checks, and the right fix passes them and is small.

They are made from exercises of right answers, chosen at random among all that the repository has,
each with several of the mistakes that the kit's fingerprints name there. ANY_REVIEW_ITEMS=1000 in
the environment makes so many, and not a few; ANY_SEED chooses others. With `pytest -s` it prints
how far it is.
"""

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tensorgrade.attempts.results import State, state_of
from tensorgrade.learner.commands.review_items import Item, Workshop
from tensorgrade.practice.variants import in_other_form, plain

from ..kits import right_texts, unpacked

ITEMS = int(os.environ.get("ANY_REVIEW_ITEMS", "3"))
MOST_OF_A_TEXT = 30
SEED = int(os.environ.get("ANY_SEED", "1"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(max(300, 60 * ITEMS))]


@pytest.fixture(scope="module")
def workshop(project, tmp_path_factory):
    """The workshop of a kit in which all chapters are solved."""
    chapters = tuple(chapter.name for chapter in project.course.chapters)
    kit = unpacked(project, tmp_path_factory.mktemp("kit"), chapters)
    made = Workshop(kit, Random(SEED))
    yield made
    made.close()


def mistakes_in(workshop: Workshop, chapter: str, exercise: str) -> list[str]:
    """Return the mistakes that the fingerprints know in an exercise."""
    known = workshop.checker.maker.fingerprints(chapter).by_exercise.get(exercise, [])
    names = {name for one in known for name in one.mistakes}
    return sorted(name for name in names if workshop.prints(chapter, exercise, name))


def items(project, workshop: Workshop) -> Iterator[Item | None]:
    """Yield items at random; None for a mistake that no edit of the exercise makes."""
    drawn = right_texts(project)
    while True:
        workshop.chance.shuffle(drawn)
        for chapter, exercise, text in drawn:
            base = workshop.chance.choice([text, in_other_form(text, exercise)])
            mistakes = mistakes_in(workshop, chapter, exercise)
            workshop.chance.shuffle(mistakes)
            for mistake in mistakes[:MOST_OF_A_TEXT]:
                yield workshop.item_in(exercise, mistake, base)
            workshop.searches.clear()


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


def test_random_items_fail_and_their_right_fix_passes(project, workshop):
    wrong, count = [], Counter()
    for item in items(project, workshop):
        count["items" if item else "without an item"] += 1
        if item and (found := faults(workshop, item)):
            wrong.append(f"{found}: {item.mistake}\n{item.base}\n\n{item.definition}")
            print(f"{found}: {item.mistake}\n{item.definition}", flush=True)
        if item and count["items"] % 50 == 0:
            print(f"{dict(count)}, {len(wrong)} wrong", flush=True)
        if count["items"] >= ITEMS:
            break
    assert not wrong, "\n\n".join(wrong)
