"""A result that loses its axes of one costs points, and keeps half of them."""

import ast

import pytest

from ..answers.reader import place_of, solution
from ..support import ROOT, Judge, Project, some

pytestmark = pytest.mark.proof
PROJECT = Project(ROOT)
# The results of these exercises have no axes, or none that can be lost.
WITHOUT = {"copy_v2_into_v1", "trace_shapes", "cross_entropy", "train_step", "trained_loss"}
# A cache that lost one is of no use in the next call.
IN_ERRORS = {"CachedAttention"}
SQUEEZED = """

def without_axes_of_one(result):
    if isinstance(result, tuple):
        return tuple(map(without_axes_of_one, result))
    return result.squeeze() if isinstance(result, torch.Tensor) else result
"""
EXERCISES = [
    (chapter.name, exercise.name)
    for chapter in PROJECT.course.chapters
    for exercise in chapter.exercises
    if not exercise.like and exercise.name not in WITHOUT
]


def squeezed(chapter: str, exercise: str) -> str:
    """Return the solution with `squeeze` on what the exercise's last `return` gives."""
    text = solution(chapter)
    first, last = place_of(text, exercise)
    lines = text.splitlines()
    whole = ast.parse("\n".join(lines[first:last]))
    returns = [node for node in ast.walk(whole) if isinstance(node, ast.Return) and node.value]
    final = max(returns, key=lambda node: node.lineno)
    final.value = ast.Call(ast.Name("without_axes_of_one"), [final.value], [])
    return "\n".join([*lines[:first], ast.unparse(whole), *lines[last:]]) + SQUEEZED


@pytest.mark.parametrize("chapter, exercise", some(EXERCISES, 4))
def test_a_result_that_loses_an_axis_of_one_loses_points(judge: Judge, chapter: str, exercise: str):
    found = judge(chapter, exercise, squeezed(chapter, exercise))
    assert found.points < found.max_points, found
    if exercise not in IN_ERRORS:
        assert found.points >= 0.5 * found.max_points, found
        said = ("a dimension of size 1 is missing", "is a single number; a tensor of shape (1")
        assert any(words in found.message for words in said), found
