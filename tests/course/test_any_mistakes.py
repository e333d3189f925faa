"""Any combination of mistakes in a submission is graded, and graded the same again."""

import os
import random

import pytest

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.author.proofs.sample_class import Choice, assemble
from tensorgrade.sources.submitted_files import SubmittedFiles

DRAWS = int(os.environ.get("ANY_MISTAKES", "1"))  # submissions of a chapter


@pytest.mark.slow
@pytest.mark.parametrize("draw", range(DRAWS))
def test_any_mistakes_together_are_judged(project, grader, draw):
    chance = random.Random(draw)
    chapters = project.course.chapters
    for number, chapter in enumerate(chapters):
        submitted, verdicts = judged(project, grader, chapter, lambda known: some_of(known, chance))
        if number == (draw + 3) % len(chapters):  # each chapter in six draws
            assert verdicts == grader.grade(submitted), "a grade does not depend on chance"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(DRAWS))
def test_a_mistake_in_every_exercise_is_judged(project, grader, number):
    """Mistakes at the same index of their lists are often of one kind."""
    for chapter in project.course.chapters:
        judged(project, grader, chapter, lambda known: nth_of(known, number))


def nth_of(known: list[str], number: int) -> list[str]:
    """Return one of an exercise's mistakes; none if it has none, as in find-the-bug exercises."""
    return [known[number % len(known)]] if known else []


def some_of(known: list[str], chance: random.Random) -> list[str] | None:
    """Return some mistakes of an exercise, or none; None if the exercise is to do."""
    count = min(len(known), chance.choice([0, 1, 1, 1, 2]))
    return None if chance.random() < 0.1 else chance.sample(known, count)


def judged(project, grader, chapter, chosen) -> tuple[SubmittedFiles, list[Verdict]]:
    """Grade a chapter with the mistakes that are chosen from those of each exercise."""
    choices = []
    for exercise in chapter.exercises:
        made = chosen([m.name for m in project.mistakes if exercise.name in m.edits])
        choices.append(Choice(exercise.name, tuple(made or ()), to_do=made is None))
    text = assemble(project, chapter.name, choices)
    submitted_files = SubmittedFiles("somebody", chapter.name, "any.py", text.encode())
    verdicts = grader.grade(submitted_files)
    assert [v.exercise for v in verdicts] == [e.name for e in chapter.exercises]
    for one in verdicts:
        assert 0 <= one.points <= one.max_points and one.message, one
    return submitted_files, verdicts
