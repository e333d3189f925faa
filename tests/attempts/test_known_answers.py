"""What is right is right for everybody who hands in the same, and for nobody else."""

import re

import pytest

from tensorgrade.attempts.known_answers import KnownAnswers
from tensorgrade.attempts.verdict import Status
from tensorgrade.author.recording.mistakes import make
from tensorgrade.runner.plain_code import contents
from tensorgrade.sources.handins import Handin

CHAPTER = "ch1_simplified_attention"
BUG = "bug_simplified_self_attention"  # how much of what was given is changed counts, too
WRONG = "def softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)\n"
SAFE = "(lambda x, dim: (e := (x - x.amax(dim, keepdim=True)).exp()) / e.sum(dim, keepdim=True))"


def definition(text: str, name: str) -> str:
    return re.search(rf"^def {name}\(.*?(?=^\S)", text, re.M | re.S)[0]


@pytest.fixture
def graded(project, grader):
    """A function: verdicts by exercise on a text, and how many cases were run for them."""
    before, grader.known = grader.known, KnownAnswers()

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


def test_beside_what_may_act_on_it_nothing_is_known(graded, solution):
    graded(solution)
    verdicts, run = graded(solution + "\ntorch.softmax = torch.exp = lambda x, dim=0: x\n")
    assert run == set(verdicts) and verdicts["softmax"].status != Status.PASSED


def test_from_what_was_acted_on_nothing_is_learnt(graded, solution):
    """Somebody has a wrong answer made right from outside; it is right there, and nowhere else."""
    wrong = solution.replace(definition(solution, "softmax"), WRONG)
    verdicts, _ = graded(f"{wrong}\nsoftmax.__code__ = {SAFE}.__code__\n")
    assert verdicts["softmax"].status == Status.PASSED
    verdicts, _ = graded(wrong)
    assert verdicts["softmax"].status != Status.PASSED


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


def test_solutions_are_plain(project):
    """Nobody could have the same as somebody else otherwise."""
    names = [chapter.name for chapter in project.course.chapters]
    for chapter in project.course.chapters:
        told = contents(project.solution(chapter.name).read_text(encoding="utf-8"), names)
        assert {exercise.name for exercise in chapter.exercises} <= told.keys()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(6))
def test_no_mistake_is_made_of_the_same_as_what_is_right(project, number):
    chapters = project.course.chapters
    solution = project.solution(chapters[number].name).read_text(encoding="utf-8")
    names, tried = [chapter.name for chapter in chapters], 0
    right = contents(solution, names)
    for mistake in project.mistakes:
        for exercise in mistake.edits.keys() & {one.name for one in chapters[number].exercises}:
            made = contents(make(solution, exercise, [mistake]), names).get(exercise, "")
            assert made != right[exercise], (mistake.name, exercise)
            tried += bool(made)
    assert tried > 10 and len(chapters) == 6
