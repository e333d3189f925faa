"""What an author puts above a function: what a test judges, what a course adds to the engine.

A course's own checks and signatures stand in the file `checks.py` of a folder of tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

ADDED = "__added_to_tensorgrade__"
Function = TypeVar("Function", bound=Callable)


def exercise(name: str, points: float, *, guard: bool = False) -> pytest.MarkDecorator:
    """Mark a test: it judges this exercise and is worth so many of its points.

    guard: no known mistake fails this test alone; it stands against what nobody thought of.

        @exercise("normalise", points=2.5)
        def test_normalise_any_dim(attempt):
            \"\"\"It runs along the `dim` that is passed in.\"\"\"
            attempt.normalise.agrees("dim")
    """
    return pytest.mark.exercise(name, points=points, guard=guard)


def for_learners(name: str) -> pytest.MarkDecorator:
    """Mark a test that learners alone have: an exercise is not done before it passes.

    It is worth no points, so that learners count the same points as graders do.
    """
    return pytest.mark.exercise(name, points=0, guard=False, learners_only=True)


@dataclass(frozen=True)
class FindTheBug:
    """What the grader file says of an exercise in which a mistake is to be found.

    of: the exercise whose cases and tests judge it. among: by the names of known mistakes, each as
    an edit (text of the solution, replacement); the course's seed draws one of them.
    """

    of: str
    points: float
    among: dict[str, tuple[str, str]]


def find_the_bug(of: str, *, points: float, among: dict[str, tuple[str, str]]) -> FindTheBug:
    """Say that learners are given the solution with a mistake in it, and are to mend it.

    The grader file of the exercise assigns the result to BUG:

        BUG = find_the_bug("rows", points=4, among={"all_summed": ("x.sum(1)", "x.sum()")})
    """
    return FindTheBug(of, points, among)


def check(function: Function) -> Function:
    """Mark a function of `checks.py`: tests call it on an exercise, like a check of the engine.

    It is given the exercise's attempt and what the test passes on. It raises Wrong, or passes.

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
    """Mark a function of `checks.py`: `signature=name` tells mistakes apart by its imprints.

    It is given a case, what is expected and what was seen, and returns an Imprint.

        @signature("signs")
        def signs(case, expected, seen):
            return Imprint(str(bool((seen.tensors["result"] < 0).any())))
    """

    def mark(function: Callable) -> Callable:
        added_to(function.__globals__).append(("signature", name, function))
        return function

    return mark


def added_to(module: dict) -> list[tuple[str, str, Callable]]:
    """What was marked in a module so far, in order. Each module keeps its own list."""
    return module.setdefault(ADDED, [])
