"""Questions and review items at random: one option is right, and only the right fix passes.

They are about exercises of all right answers that the repository has. Options are run again, and
items are made with the mistakes that the kit's fingerprints name there.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from tensorgrade.attempts.results import State, state_of
from tensorgrade.attempts.setup import Setup
from tensorgrade.learner.commands.review_items import Item, Workshop
from tensorgrade.learner.kit import Kit
from tensorgrade.learner.watch.checker import WatchMaker
from tensorgrade.practice.questions import Question, questions_on
from tensorgrade.practice.variants import in_other_form, plain
from tensorgrade.sources.program import Source

from ..kits import solved
from ..support import ROOT, amount
from .right_options import right_options

MOST_OF_A_TEXT = 30
pytestmark = [pytest.mark.proof, pytest.mark.timeout(3600)]


def right_texts(project) -> list[tuple[str, str, str]]:
    """Return the exercises of all right answers: chapter, exercise and the chapter's text."""
    found = []
    for chapter in project.course.chapters:
        solution = project.solution(chapter.name).read_text(encoding="utf-8")
        others = sorted((ROOT / "tests" / "answers" / "right_answers" / chapter.name).glob("*.py"))
        for own in ["", *(path.read_text(encoding="utf-8") for path in others)]:
            text = f"{solution}\n\n{own}"
            names = [one.name for one in chapter.exercises if plain(own or solution, one.name)]
            found += [(chapter.name, name, text) for name in names]
    return found


def asked(project, chance: Random) -> Iterator[tuple[Question, list[str]]]:
    """Yield questions at random, each with the options that are right when the code runs again."""
    maker, drawn = WatchMaker(Setup(project.exercises)), right_texts(project)
    maker.warm_up()
    try:
        while True:
            chance.shuffle(drawn)
            for chapter, exercise, text in drawn:
                source = Source(text, f"{chapter}.py")
                attempt = maker.attempt_from_source(chapter, source)
                for question in questions_on(attempt, exercise, chance):
                    right = right_options(maker, attempt, question)
                    yield question, right
    finally:
        maker.close()


def test_random_questions_have_exactly_one_right_option(project):
    wrong, kinds = [], Counter()
    for question, right in islice(asked(project, Random(1)), amount(2)):
        kinds[question.kind] += 1
        distinct = len(set(question.options)) == len(question.options) >= 3
        if right != [question.options[question.right]] or not distinct:
            wrong.append(f"{question}\n{question.proof}\nright: {right}")
    print(f"{kinds.total()} questions: {dict(kinds)}")
    assert not wrong, "\n\n".join(wrong)


def items(project, workshop: Workshop) -> Iterator[Item]:
    """Yield items at random, of the mistakes that an edit of the exercise makes."""
    drawn, chance = right_texts(project), workshop.chance
    while True:
        chance.shuffle(drawn)
        for chapter, exercise, text in drawn:
            base = chance.choice([text, in_other_form(text, exercise)])
            known = workshop.checker.maker.side(chapter).fingerprints.by_exercise.get(exercise, [])
            names = sorted({name for one in known for name in one.mistakes})
            mistakes = [name for name in names if workshop.prints(chapter, exercise, name)]
            chance.shuffle(mistakes)
            for mistake in mistakes[:MOST_OF_A_TEXT]:
                if item := workshop.item_in(exercise, mistake, base):
                    yield item
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


def test_random_items_fail_and_their_right_fix_passes(project, kit, tmp_path):
    chapters = [chapter.name for chapter in project.course.chapters]
    workshop = Workshop(Kit(solved(kit, tmp_path / "kit", *chapters)), Random(1))
    try:
        wrong = [
            f"{found}: {item.mistake}\n{item.base}\n\n{item.definition}"
            for item in islice(items(project, workshop), amount(1))
            if (found := faults(workshop, item))
        ]
    finally:
        workshop.close()
    assert not wrong, "\n\n".join(wrong)
