"""A result that loses its axes of one costs points, wherever some legal use can tell it."""

import pytest

from tensorgrade.author.proofs.kills import same, uses_by_chance
from tensorgrade.author.proofs.made_attempts import Form
from tensorgrade.author.proofs.mutants import mutants
from tensorgrade.author.recording.references import observe
from tensorgrade.project import Project

from ..commands import ROOT
from ..sampling import first_of_each

PROJECT = Project(ROOT)
EXERCISES = [
    (chapter.name, exercise.name)
    for chapter in PROJECT.course.chapters
    for exercise in chapter.exercises
    if not PROJECT.bug(chapter.name, exercise.name)  # its cases are those of another exercise
]
# The results of these exercises have no axes, or none that can be lost.
WITHOUT = {"copy_v2_into_v1", "trace_shapes", "cross_entropy", "train_step", "trained_loss"}


def squeezed(project, chapter, exercise) -> list[str]:
    """Yield the solution's text with `squeeze` on the result, in several places."""
    source = project.solution(chapter).read_text(encoding="utf-8")
    others = {one.name for one in project.course.chapter(chapter).exercises} - {exercise}
    made = mutants(Form(chapter, exercise, "the solution", source), others)
    return [mutant.source for mutant in made if mutant.operator == "squeezed"]


def differs(project, chapter, exercise, source) -> bool:
    """Return True if a random call distinguishes a text from the solution."""
    uses = uses_by_chance(project, chapter, exercise)
    solution = project.solution(chapter).read_text(encoding="utf-8")
    pairs = zip(
        *(observe(project, chapter, text, uses) for text in (solution, source)), strict=True
    )
    return not all(same(*pair) for pair in pairs)


# A cache that lost one is of no use in the next call; what is no tensor cannot be squeezed.
IN_ERRORS = {"trace_shapes", "train_step", "trained_loss", "CachedAttention"}


@pytest.mark.slow
@pytest.mark.parametrize("chapter, exercise", first_of_each(EXERCISES, lambda names: names[0]))
def test_a_result_that_loses_an_axis_of_one_loses_points(project, judged, chapter, exercise):
    told = exercise not in IN_ERRORS
    verdicts = {
        source: judged(chapter, exercise, source, told)
        for source in squeezed(project, chapter, exercise)
    }
    kept = [text for text, one in verdicts.items() if one.points == one.max_points]
    assert not any(differs(project, chapter, exercise, text) for text in kept)
    assert exercise in WITHOUT or len(kept) < len(verdicts)
    if told:
        assert all(one.points >= 0.5 * one.max_points for one in verdicts.values())
        assert all(GONE in one.message for text, one in verdicts.items() if text not in kept)


GONE = "; a dimension of size 1 is missing"
SOFTMAX = "torch.softmax(attn_scores / d_k**0.5, dim=-1)"


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [SOFTMAX.replace("**0.5", ""), SOFTMAX.replace("-1", "-2")])
def test_what_is_wrong_besides_is_paid_for(project, judged, wrong):
    chapter, exercise = "ch2_self_attention", "attention_weights"
    solution = project.solution(chapter).read_text(encoding="utf-8")
    assert solution.count(f"return {SOFTMAX}") == 1
    only = judged(chapter, exercise, solution.replace(SOFTMAX, f"{SOFTMAX}.squeeze()", 1), False)
    both = judged(chapter, exercise, solution.replace(SOFTMAX, f"{wrong}.squeeze()", 1), False)
    assert only.points == 0.75 * only.max_points and both.points < only.points
