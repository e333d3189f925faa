"""An edit is suggested only if the code is then right on every hidden case."""

from tensorgrade.attempts.repair import holds
from tensorgrade.runner.edits import Edit, Idea
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import Judge

CHAPTER = "ch1_simplified_attention"
RIGHT = """import torch

def softmax(x, dim=-1):
    exps = torch.exp(x - x.amax(dim, keepdim=True))
    return exps / exps.sum(dim, keepdim=True)
"""
OFTEN_RIGHT = RIGHT.replace("sum(dim,", "sum(-1,")
WRONG = RIGHT.replace("sum(dim,", "sum(0,")


def test_an_edit_holds_only_if_every_hidden_case_is_right(judge: Judge):
    judge(CHAPTER, "softmax", RIGHT, explain=False)  # makes the grader
    wrong = SubmittedFiles("ada", CHAPTER, f"{CHAPTER}.py", WRONG.encode())
    attempt = judge.grader(False).attempt(wrong)
    attempt.run(["softmax"])
    try:
        for edited in (RIGHT, OFTEN_RIGHT, WRONG):
            edit = Edit(5, Idea.CALL, "", edited)
            assert holds(attempt.exercises["softmax"], edit) == (edited == RIGHT), edited
    finally:
        attempt.lab.close()
