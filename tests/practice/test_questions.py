"""Questions on a learner's own code: each has exactly one right option, also when run again."""

from random import Random

import pytest
import torch

from tensorgrade.attempts.setup import Setup
from tensorgrade.exchange.observation import Observation
from tensorgrade.learner.watch.checker import WatchMaker
from tensorgrade.practice.questions import leaks, questions_on
from tensorgrade.sources.submission import Source

from .right_options import right_options

MANY = [
    ("ch1_simplified_attention", "softmax"),
    ("ch2_self_attention", "scaled_dot_product_attention"),
    ("ch2_self_attention", "SelfAttention_v2"),
    ("ch3_causal_attention", "causal_attention_weights"),
    ("ch3_causal_attention", "CausalAttention"),
    ("ch4_multi_head_attention", "split_heads"),
    ("ch6_small_gpt", "LayerNorm"),
]


@pytest.fixture(scope="module")
def maker(project):
    made = WatchMaker(Setup(project.exercises))
    made.warm_up()
    yield made
    made.close()


def attempt_at(project, maker, chapter: str, text: str = ""):
    text = text or project.solution(chapter).read_text(encoding="utf-8")
    return maker.attempt_from_source(chapter, Source(text, f"{chapter}.py"), project.root)


@pytest.mark.slow
@pytest.mark.parametrize(("chapter", "exercise"), MANY, ids=[name for _, name in MANY])
def test_exactly_one_option_is_right_when_the_code_runs_again(project, maker, chapter, exercise):
    found = 0
    for seed in range(2):
        attempt = attempt_at(project, maker, chapter)
        for question in questions_on(attempt, exercise, Random(seed)):
            right = right_options(maker, attempt, question)
            assert right == [question.options[question.right]], question
            assert len(set(question.options)) == len(question.options) >= 3
            found += 1
    assert found


@pytest.mark.slow
def test_a_causal_exercise_is_asked_what_leaks_the_future(project, maker):
    attempt = attempt_at(project, maker, "ch3_causal_attention")
    kinds = {q.kind for q in questions_on(attempt, "causal_attention_weights", Random(1))}
    assert "leak" in kinds


def test_edits_that_give_an_empty_result_are_not_asked_about():
    empty = Observation(tensors={"result": torch.ones(2, 4, 0)})
    assert leaks(empty, empty) is None


UNSET = """def split_heads(x, num_heads):
    out = torch.empty(len(x), num_heads, x.shape[1], x.shape[2] // num_heads, dtype=x.dtype)
    width = x.shape[-1] // num_heads
    for head in range(num_heads):
        out[:, head] = x[..., head * width : (head + 1) * width]
    return out
"""


@pytest.mark.slow
def test_code_that_may_return_unset_memory_is_only_asked_for_shapes(project, maker):
    chapter = "ch4_multi_head_attention"
    text = project.solution(chapter).read_text(encoding="utf-8") + "\n\n" + UNSET
    kinds = {
        question.kind
        for seed in range(3)
        for question in questions_on(
            attempt_at(project, maker, chapter, text), "split_heads", Random(seed)
        )
    }
    assert kinds <= {"shape"}
