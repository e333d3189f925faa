"""An edit is suggested only if the code is then right on every hidden case."""

import pytest

from tensorgrade.attempts.repair import holds
from tensorgrade.runner.edits import Edit, Idea
from tensorgrade.sources.submitted_files import SubmittedFiles

CHAPTER = "ch1_simplified_attention"
RIGHT = """import torch

def softmax(x, dim=-1):
    exps = torch.exp(x - x.amax(dim, keepdim=True))
    return exps / exps.sum(dim, keepdim=True)
"""
OFTEN_RIGHT = RIGHT.replace("sum(dim,", "sum(-1,")
WRONG = RIGHT.replace("sum(dim,", "sum(0,")


@pytest.mark.parametrize(
    "edited, is_right",
    [
        pytest.param(RIGHT, True, id="right"),
        pytest.param(OFTEN_RIGHT, False, id="often right"),
        pytest.param(WRONG, False, id="wrong"),
    ],
)
def test_an_edit_holds_only_if_every_hidden_case_is_right(grader, edited, is_right):
    attempt = grader.attempt(SubmittedFiles("ada", CHAPTER, f"{CHAPTER}.py", WRONG.encode()))
    try:
        edit = Edit(5, Idea.CALL, "", edited)
        assert holds(attempt.exercises["softmax"], edit) == is_right
    finally:
        attempt.backend.close()
