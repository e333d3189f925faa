"""What is right is right for everybody who hands in the same, and for nobody else."""

import re

import pytest

from tensorgrade.attempts.known_answers import KnownAnswers
from tensorgrade.attempts.verdict import Status
from tensorgrade.sources.handins import Handin

CHAPTER = "ch1_simplified_attention"
BUG = "bug_simplified_self_attention"  # how much of what was given is changed counts, too
WRONG = "def softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)\n"
SAFE = "(lambda x, dim: (e := (x - x.amax(dim, keepdim=True)).exp()) / e.sum(dim, keepdim=True))"


def definition(text: str, name: str) -> str:
    return re.search(rf"^def {name}\(.*?(?=^\S)", text, re.M | re.S)[0]


@pytest.fixture
def graded(project, grader):
    """A function: verdicts by exercise on a text, and the exercises that were run in it."""
    before, grader.known = grader.known, KnownAnswers(grader.is_right_alone)

    def graded(text: str, chapter: str = CHAPTER):
        beside = project.beside(chapter)
        attempt = grader.attempt(
            Handin("somebody", chapter, f"{chapter}.py", text.encode(), beside=beside)
        )
        asked = []
        run = attempt.backend.run
        attempt.backend.run = lambda cases: asked.extend(cases) or run(cases)
        verdicts = grader.judge("somebody", attempt)
        return {one.exercise: one for one in verdicts}, {case.exercise for case in asked}

    yield graded
    grader.known = before


@pytest.fixture(scope="module")
def solution(project):
    return project.solution(CHAPTER).read_text(encoding="utf-8")


def test_the_same_answer_is_right_without_being_run(graded, solution):
    first, run = graded(solution)
    assert run == set(first) and {one.status for one in first.values()} == {Status.PASSED}
    again, run = graded(f"# mine\n{solution}\n")
    assert run == {BUG} and again == first


def test_one_that_differs_is_run(graded, solution):
    graded(solution)
    verdicts, run = graded(solution.replace(definition(solution, "softmax"), WRONG))
    assert run >= {"softmax"} and verdicts["softmax"].status != Status.PASSED
    unchanged = {name for name in verdicts if name not in run}
    assert unchanged and all(verdicts[name].status == Status.PASSED for name in unchanged)


def test_from_what_was_acted_on_nothing_is_learnt(graded, solution):
    """Somebody has a wrong answer made right from outside; it is right there, and nowhere else."""
    wrong = solution.replace(definition(solution, "softmax"), WRONG)
    for _ in range(2):
        verdicts, _ = graded(f"{wrong}\nsoftmax.__code__ = {SAFE}.__code__\n")
        assert verdicts["softmax"].status == Status.PASSED
    verdicts, run = graded(wrong)
    assert "softmax" in run and verdicts["softmax"].status != Status.PASSED


def test_what_was_right_once_is_judged_alone_before_it_is_known(graded, grader, solution):
    asked = []
    judge = grader.known.is_right
    grader.known.is_right = lambda *what: asked.append(what[1]) or judge(*what)
    graded(solution)
    assert asked == []
    graded(solution)
    graded(solution)
    assert len(asked) == len(set(asked)) > 4 and BUG not in asked


def test_a_wrong_helper_is_part_of_what_calls_it(graded, solution):
    calling = """
def total(x, dim):
    return x.sum(dim, keepdim=True)

def softmax(x, dim=-1):
    x = (x - x.amax(dim, keepdim=True)).exp()
    return x / total(x, dim)

"""
    text = solution.replace(definition(solution, "softmax"), calling)
    assert graded(text)[0]["softmax"].status == Status.PASSED
    verdicts, run = graded(text.replace("x.sum(dim,", "x.sum(0,"))
    assert "softmax" in run and verdicts["softmax"].status != Status.PASSED
