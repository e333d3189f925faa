"""Parameters and weights under any names: a right answer loses nothing, a wrong one stays wrong."""

import ast
from random import Random

import pytest

from ..answers.reader import edited_answers, right_answers, solution, solutions, twins
from ..support import ROOT, Judge, Project, amount, known_mistakes, some, with_mistakes
from .renaming import FORMS, STYLES, functions_of, own_weights, parameters, renamed

pytestmark = pytest.mark.proof
PROJECT = Project(ROOT)
# Compiling an answer takes too long.
RIGHT = {(one.chapter, one.text) for one in (*solutions(), *right_answers())}
RIGHT = sorted(one for one in RIGHT if "torch.compile" not in one[1])
CH2, CH5, CH6 = "ch2_self_attention", "ch5_beyond_one_sentence", "ch6_small_gpt"
WITH_WEIGHTS = [
    (CH2, "SelfAttention_v2"),
    ("ch3_causal_attention", "CausalAttention"),
    ("ch4_multi_head_attention", "MultiHeadAttention"),
    *((CH5, f"{name}Attention") for name in ("Cross", "GroupedQuery", "Cached", "Latent")),
    *((CH6, name) for name in ("LayerNorm", "TransformerBlock", "SmallGPT")),
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


def variants(seed: int) -> list[tuple[str, str, str, str]]:
    """Return (chapter, class, style, form) of each kind of weights, in a random order."""
    kinds = [(*one, style, form) for one in WITH_WEIGHTS for style in STYLES for form in FORMS]
    return Random(seed).sample(kinds, len(kinds))


def classes_of(chapter: str, name: str) -> list[str]:
    """Return a class and the earlier ones of its chapter that it is made of."""
    blocks = ["LayerNorm", "TransformerBlock", "SmallGPT"]
    return blocks[: blocks.index(name) + 1] if chapter == CH6 else [name]


def test_weights_under_other_names_lose_nothing(judge: Judge):
    """With an unused layer, the answer loses what it loses under the stub's names."""
    for seed, (chapter, name, style, form) in enumerate(some(variants(7), 2)):
        classes = classes_of(chapter, name)
        text = own_weights(solution(chapter), classes, style, form, Random(seed))
        for found in judge.chapter(chapter, text, classes).values():
            assert (found.points, found.message) == (found.max_points, "Right."), (found, text)
        begin = "super().__init__()\n"
        spare = [
            one.replace(begin, f"{begin}        self.spare = nn.Linear(3, 5)\n")
            for one in (solution(chapter), text)
        ]
        before, after = (judge.chapter(chapter, one, classes, explain=False) for one in spare)
        for one in classes:
            assert after[one].points == before[one].points, (before[one], after[one], text)


def test_known_mistakes_keep_their_names_under_other_names_of_weights(judge: Judge):
    """A few end up under another name, because a mistake may be right up to names."""
    asked = {name for _, name in WITH_WEIGHTS}
    known = [one for one in known_mistakes(PROJECT) if one[1] in asked]
    drawn, lost = some(known, 8), []
    for seed, (chapter, exercise, name) in enumerate(drawn):
        wrong, random = with_mistakes(PROJECT, chapter, exercise, name), Random(seed)
        text = own_weights(wrong, [exercise], random.choice(STYLES), "plain", random)
        found = judge(chapter, exercise, text, explain=False)
        true = {name, *twins(exercise, name)}
        lost += [(name, found, text)] * (not true.intersection(found.mistakes))
    assert len(lost) <= 0.07 * len(drawn), lost


def test_wrong_answers_keep_their_mistakes_under_other_names(judge: Judge):
    """With known mistakes, and with some that have no name. A few change, none earns more."""
    wrong = (one for one in edited_answers() if one.corpus == "wrong_edits")
    texts = [(one.chapter, one.exercise, one.text) for one in wrong]
    for chapter, exercise, name in known_mistakes(PROJECT):
        texts.append((chapter, exercise, with_mistakes(PROJECT, chapter, exercise, name)))
    chance, drawn, changed = Random(3), some(texts, 4), []
    for chapter, exercise, text in drawn:
        if exercise in with_parameters(chapter, text):
            before = judge(chapter, exercise, text, explain=False)
            other = renamed(text, [exercise], chance, exchange=False)
            after = judge(chapter, exercise, other, explain=False)
            assert after.points <= before.points, (before, after, other)
            changed += [(before, after)] * (before.mistakes != after.mistakes)
    assert len(changed) <= len(drawn) / 100, changed
