"""Decorators for authors: they mark tests of an exercise, and a course's additions to the engine.

A course's own checks and signatures are in the file `checks.py` of its folder of tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

ADDED = "__added_to_tensorgrade__"
Function = TypeVar("Function", bound=Callable)


def exercise(name: str, points: float, *, guard: bool = False) -> pytest.MarkDecorator:
    """Mark a test: it judges this exercise and is worth this many of its points.

    guard: no known mistake fails only this test; it guards against unanticipated mistakes.

        @exercise("normalise", points=2.5)
        def test_normalise_any_dim(attempt):
            \"\"\"It runs along the `dim` that is passed in.\"\"\"
            attempt.normalise.agrees("dim")
    """
    return pytest.mark.exercise(name, points=points, guard=guard)


def for_learners(name: str) -> pytest.MarkDecorator:
    """Mark a test that only learners have. Their exercise is done only when it passes.

    It is worth no points, so learners and graders count the same points.
    """
    return pytest.mark.exercise(name, points=0, guard=False, learners_only=True)


@dataclass(frozen=True)
class FindTheBug:
    """The settings of a find-the-bug exercise in its grader file.

    of: the exercise whose cases and tests judge it. mistake: the name of one of its known mistakes.
    edit: (text of the solution, replacement); it puts that mistake into the solution.
    """

    of: str
    points: float
    mistake: str
    edit: tuple[str, str]


def find_the_bug(of: str, *, points: float, mistake: str, edit: tuple[str, str]) -> FindTheBug:
    """Define a find-the-bug exercise: learners get the solution with a mistake, and fix it.

    The grader file of the exercise assigns the result to BUG:

        BUG = find_the_bug("rows", points=4, mistake="all_summed", edit=("x.sum(1)", "x.sum()"))
    """
    return FindTheBug(of, points, mistake, edit)


def check(function: Function) -> Function:
    """Mark a function of `checks.py` as a check: tests call it on an exercise like a built-in one.

    It receives the exercise's attempt and the arguments of the test. It raises Wrong, or passes.

        @check
        def is_positive(exercise, group):
            for case, expected, observed in exercise.answered(group):
                result = exercise.result(case, "result", expected, observed)
                if (result < 0).any():
                    exercise.wrong("values", "it has negative entries", case=case)
    """
    added_to(function.__globals__).append(("check", function.__name__, function))
    return function


def signature(name: str) -> Callable[[Callable], Callable]:
    """Mark a function of `checks.py` as a signature: cases with `signature=name` use it.

    It receives a case, the expected observation and the actual one, and returns an Imprint.
    Mistakes with different imprints can be distinguished.

        @signature("signs")
        def signs(case, expected, seen):
            return Imprint(str(bool((seen.tensors["result"] < 0).any())))
    """

    def mark(function: Callable) -> Callable:
        added_to(function.__globals__).append(("signature", name, function))
        return function

    return mark


def added_to(module: dict) -> list[tuple[str, str, Callable]]:
    """Return the marked functions of a module so far, in order. Each module has its own list."""
    return module.setdefault(ADDED, [])
