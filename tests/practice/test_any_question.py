"""Random questions: exactly one option is right when the code runs again.

Each is about an exercise of a right answer, chosen at random among all that the repository has.
ANY_QUESTIONS=1000 in the environment asks so many, and not a few; ANY_SEED chooses others.
"""

import os
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.learner.watch.checker import WatchMaker
from tensorgrade.practice.questions import Question, questions_on
from tensorgrade.practice.variants import plain
from tensorgrade.sources.submission import Source

from ..commands import ROOT
from .right_options import right_options

QUESTIONS = int(os.environ.get("ANY_QUESTIONS", "6"))
SEED = int(os.environ.get("ANY_SEED", "1"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(max(300, 10 * QUESTIONS))]


def answers(project) -> list[tuple[str, str, str]]:
    """Return the exercises of all right answers: chapter, exercise and the chapter's text."""
    found = []
    for chapter in project.course.chapters:
        solution = project.solution(chapter.name).read_text(encoding="utf-8")
        others = sorted((ROOT / "tests" / "right_answers" / chapter.name).glob("*.py"))
        for own in ["", *(path.read_text(encoding="utf-8") for path in others)]:
            text = f"{solution}\n\n{own}"
            names = [one.name for one in chapter.exercises if plain(own or solution, one.name)]
            found += [(chapter.name, name, text) for name in names]
    return found


def asked(project, chance: Random) -> Iterator[tuple[Question, list[str]]]:
    """Yield questions at random, each with the options that are right when the code runs again."""
    maker, drawn = WatchMaker(Setup(project.exercises)), answers(project)
    maker.warm_up()
    try:
        while True:
            chapter, exercise, text = chance.choice(drawn)
            source = Source(text, f"{chapter}.py")
            attempt = maker.attempt_from_source(chapter, source, project.root)
            for question in questions_on(attempt, exercise, chance):
                yield question, right_options(maker, attempt, question)
    finally:
        maker.close()


def test_random_questions_have_exactly_one_right_option(project):
    wrong, kinds = [], Counter()
    for question, right in asked(project, Random(SEED)):
        kinds[question.kind] += 1
        distinct = len(set(question.options)) == len(question.options) >= 3
        if right != [question.options[question.right]] or not distinct:
            wrong.append((question, right))
        if kinds.total() >= QUESTIONS:
            break
    print(f"{kinds.total()} questions: {dict(kinds)}")
    assert not wrong, "\n\n".join(f"{question}\nright: {right}" for question, right in wrong)
