"""Questions on a learner's own code: each has exactly one right option, also when run again."""

from random import Random

import pytest
import torch

from tensorgrade.attempts.setup import Setup
from tensorgrade.exchange.observation import Observation
from tensorgrade.learner.watch.checker import WatchMaker
from tensorgrade.practice.questions import leaks, questions_on
from tensorgrade.sources.program import Source

from ..support import some
from .right_options import right_options

CH3, CH4 = "ch3_causal_attention", "ch4_multi_head_attention"
MANY = [
    (CH3, "causal_attention_weights"),
    ("ch1_simplified_attention", "softmax"),
    (CH4, "split_heads"),
    ("ch2_self_attention", "SelfAttention_v2"),
    (CH3, "CausalAttention"),
    ("ch6_small_gpt", "LayerNorm"),
]
UNSET = """def split_heads(x, num_heads):
    out = torch.empty(len(x), num_heads, x.shape[1], x.shape[2] // num_heads, dtype=x.dtype)
    width = x.shape[-1] // num_heads
    for head in range(num_heads):
        out[:, head] = x[..., head * width : (head + 1) * width]
    return out
"""


@pytest.mark.slow
def test_exactly_one_option_is_right_when_the_code_runs_again(project):
    maker = WatchMaker(Setup(project.exercises))
    maker.warm_up()

    def attempt_at(chapter: str, more: str = ""):
        text = project.solution(chapter).read_text(encoding="utf-8") + more
        return maker.attempt_from_source(chapter, Source(text, f"{chapter}.py"))

    try:
        for chapter, exercise in some(MANY, 1):
            attempt = attempt_at(chapter)
            found = questions_on(attempt, exercise, Random(1))
            assert found, exercise
            for question in found:
                right = right_options(maker, attempt, question)
                assert right == [question.options[question.right]], question
                assert len(set(question.options)) == len(question.options) >= 3
            if exercise == "causal_attention_weights":
                assert "leak" in {question.kind for question in found}
        unset = attempt_at(CH4, "\n\n" + UNSET)
        kinds = {one.kind for one in questions_on(unset, "split_heads", Random(1))}
        assert kinds <= {"shape"}, "it may return unset memory"
    finally:
        maker.close()
    empty = Observation(tensors={"result": torch.ones(2, 4, 0)})
    assert leaks(empty, empty) is None
