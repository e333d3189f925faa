"""Every known mistake loses points and is called by its name: on hidden cases, across the wire."""

from itertools import zip_longest

import pytest

from tensorgrade.author.proofs.sample_class import Choice, assemble
from tensorgrade.sources.handins import Handin

MODULES = (
    "SelfAttention_v1",
    "SelfAttention_v2",
    "CausalAttention",
    "MultiHeadAttentionWrapper",
    "MultiHeadAttention",
)


def distinct(project, exercise):
    """Mistakes of an exercise that are not another name for one before."""
    return [m for m in project.mistakes if exercise in m.edits and not m.same_as]


@pytest.mark.parametrize("exercise", MODULES)
def test_twelve_mistakes_for_every_module(project, exercise):
    assert len(distinct(project, exercise)) >= 12


def test_six_mistakes_for_every_function(project):
    for chapter in project.course.chapters:
        for exercise in chapter.exercises:
            assert len(distinct(project, exercise.name)) >= 6, exercise.name


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", range(4))
def test_every_mistake_is_caught_and_named(project, grader, number):
    """One made-up learner after another, each with one mistake in every exercise of the chapter."""
    chapter = project.course.chapters[number]
    columns = [distinct(project, exercise.name) for exercise in chapter.exercises]
    for learner in zip_longest(*columns):
        choices = [
            Choice(e.name, (m.name,) if m else ())
            for e, m in zip(chapter.exercises, learner, strict=True)
        ]
        source = assemble(project, chapter.name, choices).encode()
        verdicts = grader.grade(Handin("somebody", chapter.name, "a.py", source))
        for verdict, wrong in zip(verdicts, learner, strict=True):
            if wrong is None:
                assert verdict.status == "passed", verdict
            else:
                assert verdict.points < verdict.max_points, (wrong.name, verdict)
                assert verdict.mistakes == [wrong.name], (wrong.name, verdict)
                assert verdict.message == wrong.message
