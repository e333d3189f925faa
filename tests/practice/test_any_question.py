"""Random questions: exactly one option is right when the code runs again.

Each is about an exercise of a right answer, chosen at random among all that the repository has.
ANY_QUESTIONS=1000 in the environment asks so many, and not a few; ANY_SEED chooses others. With
`pytest -s` it prints how far it is.
"""

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tensorgrade.attempts.attempt import quietly
from tensorgrade.attempts.setup import Setup
from tensorgrade.learner.watch.checker import WatchMaker
from tensorgrade.practice.questions import Question, questions_on
from tensorgrade.sources.submission import Source

from ..kits import right_texts
from .right_options import right_options

QUESTIONS = int(os.environ.get("ANY_QUESTIONS", "6"))
SEED = int(os.environ.get("ANY_SEED", "1"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(max(300, 10 * QUESTIONS))]


def asked(project, chance: Random) -> Iterator[tuple[Question, list[str]]]:
    """Yield questions at random, each with the options that are right when the code runs again."""
    maker, drawn = WatchMaker(Setup(project.exercises)), right_texts(project)
    maker.warm_up()
    try:
        while True:
            chance.shuffle(drawn)
            for chapter, exercise, text in drawn:
                source = Source(text, f"{chapter}.py")
                attempt = maker.attempt_from_source(chapter, source, project.root)
                for question in questions_on(attempt, exercise, chance):
                    with quietly():
                        right = right_options(maker, attempt, question)
                    yield question, right
    finally:
        maker.close()


def test_random_questions_have_exactly_one_right_option(project):
    wrong, kinds = [], Counter()
    for question, right in asked(project, Random(SEED)):
        kinds[question.kind] += 1
        distinct = len(set(question.options)) == len(question.options) >= 3
        if right != [question.options[question.right]] or not distinct:
            wrong.append(f"{question}\n{question.proof}\nright: {right}")
            print(wrong[-1], flush=True)
        if kinds.total() % 50 == 0:
            print(f"{kinds.total()} questions, {len(wrong)} wrong", flush=True)
        if kinds.total() >= QUESTIONS:
            break
    print(f"{kinds.total()} questions: {dict(kinds)}")
    assert not wrong, "\n\n".join(wrong)
