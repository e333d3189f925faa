"""Parameters under any names: a right answer loses nothing, and a wrong one keeps its mistakes.

By position names never matter. A class with its parameters in another order loses a point.
"""

import ast
from random import Random

import pytest

from ..answers.reader import edited_answers, right_answers, solution, solutions
from ..support import ROOT, Judge, Project, amount, known_mistakes, some, with_mistakes
from .renaming import functions_of, parameters, renamed, reordered

pytestmark = pytest.mark.proof
PROJECT = Project(ROOT)
# Compiling an answer takes too long.
RIGHT = {(one.chapter, one.text) for one in (*solutions(), *right_answers())}
RIGHT = sorted(one for one in RIGHT if "torch.compile" not in one[1])
CLASSES = [
    ("ch3_causal_attention", "CausalAttention"),
    ("ch4_multi_head_attention", "MultiHeadAttention"),
    ("ch6_small_gpt", "TransformerBlock"),
    ("ch6_small_gpt", "SmallGPT"),
]


def with_parameters(chapter: str, text: str) -> list[str]:
    """Return the exercises that a text defines and whose parameters can be renamed.

    In find-the-bug exercises, every changed name counts.
    """
    exercises = PROJECT.course.chapter(chapter).exercises
    asked = {one.name for one in exercises if not one.like}
    there = [node for node in ast.parse(text).body if getattr(node, "name", "") in asked]
    return [node.name for node in there if any(map(parameters, functions_of(node)))]


def test_right_answers_lose_nothing_by_other_names(judge: Judge):
    for number in range(amount(1)):
        for chapter, text in some(RIGHT, 1):
            names = with_parameters(chapter, text)
            other = renamed(text, names, Random(number))
            for found in judge.chapter(chapter, other, names, explain=False).values():
                assert found.points == found.max_points, (found, other)
        if number == 3:  # a thousand definitions
            break


@pytest.mark.parametrize("chapter, name", CLASSES)
def test_another_order_costs_a_point_at_most(judge: Judge, chapter: str, name: str):
    for seed in range(min(3, amount(1))):
        found = judge(chapter, name, reordered(solution(chapter), name, Random(seed)))
        assert found.message.startswith("Right.") and not found.mistakes, found
        assert found.points >= found.max_points - 1, found


def test_wrong_answers_keep_their_mistakes_under_other_names(judge: Judge):
    """With known mistakes, and with some that have no name. A few change, none earns more."""
    wrong = edited_answers("wrong_edits", "WRONG")
    texts = [(one.chapter, one.exercise, one.text) for one in wrong]
    for chapter, exercise, name in known_mistakes(PROJECT):
        texts.append((chapter, exercise, with_mistakes(PROJECT, chapter, exercise, name)))
    chance, drawn, changed = Random(3), some(texts, 4), []
    for chapter, exercise, text in drawn:
        if exercise in with_parameters(chapter, text):
            before = judge(chapter, exercise, text, explain=False)
            other = renamed(text, [exercise], chance)
            after = judge(chapter, exercise, other, explain=False)
            assert after.points <= before.points, (before, after, other)
            changed += [(before, after)] * (before.mistakes != after.mistakes)
    assert len(changed) <= len(drawn) / 100, changed
