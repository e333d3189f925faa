"""Cases and checks of an exercise, as data. Cases are drawn twice: for learners and for graders."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import torch

from ...course import Call, Check, CourseError
from ...exchange.cases import Case, record
from ...project import Project
from ...runner.step import Step
from .drawings import Draw, seed_for

PUBLIC_SEED = 7
SMALL = (2, 7)  # sizes for learners, who should be able to follow their own cases by eye


@dataclass(frozen=True)
class WrittenCase:
    """A case before its numbers are drawn.

    dtype: the dtype of the drawn numbers. settings: the other fields of `Case`.
    """

    name: str
    steps: tuple[Step, ...]
    dtype: torch.dtype = torch.float64
    settings: dict = field(default_factory=dict)

    def recorded(self, exercise: str, seed: int, hidden: bool = False) -> Case:
        """Return the case with its numbers drawn.

        They depend only on the seed, the exercise and the case's name. On a hidden case, so do the
        seeds that its steps set.
        """

        def own_seed(written: int) -> int:
            return seed_for(seed, exercise, self.name, "seed", written)

        draw = Draw(seed_for(seed, exercise, self.name), self.dtype)
        seeds = own_seed if hidden else int
        return record(exercise, self.name, self.steps, draw.value, seeds, **self.settings)


def case(
    name: str, *steps: Step, dtype: torch.dtype = torch.float64, **settings: Any
) -> WrittenCase:
    """Return a case with the steps to take. Tests ask for it by its name, `group/which`.

    settings: other fields of `tensorgrade.exchange.cases.Case`, such as `signature`.
    """
    return WrittenCase(name, steps, dtype, settings)


def shown(name: str, *steps: Step, **settings: Any) -> WrittenCase:
    """Return a case that learners see in full, in float32. Graders do not use it."""
    return WrittenCase(name, steps, torch.float32, settings | {"shown": True})


def check(points: float, says: str, *calls: Call) -> Check:
    """Return a check of the exercise: its points, the sentence for learners, and what must hold.

    A check that is worth 0 points is for learners only; their exercise is done only when it passes.

        check(2.5, "It runs along the `dim` that is passed in.", it.agrees("dim"))

    Raise CourseError if a value cannot be part of a check.
    """
    if isinstance(points, bool) or not isinstance(points, int | float) or not points >= 0:
        raise CourseError(f"a check is worth {points!r} points; give it a number, 0 or more")
    if not isinstance(says, str) or not says.strip():
        raise CourseError("a check has no sentence, the line that learners read")
    if not calls or not all(isinstance(one, Call) for one in calls):
        raise CourseError(f'{says!r} checks nothing; write what must hold, as it.agrees("values")')
    try:
        json.dumps([[one.arguments, one.settings] for one in calls])
    except TypeError as error:
        raise CourseError(
            f"{says!r} has an argument that course.json cannot hold: {error}"
        ) from None
    return Check(points, says, calls, sys._getframe(1).f_lineno)


class It:
    """The exercise in a check. It records calls by name: `it.agrees("values")`."""

    def __getattr__(self, name: str) -> Callable[..., Call]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments, **settings: Call(name, arguments, settings)


it = It()
"""The exercise that a check judges: `it.agrees("values")` is a call on it."""


class Sizes:
    """Sizes and chance for the cases of an exercise: graders draw other sizes than learners.

    An instance is the argument of `cases(draw)` in a grader file.
    """

    def __init__(self, exercise: str, hidden: bool = False, seed: int = PUBLIC_SEED):
        self.exercise, self.hidden, self.seed = exercise, hidden, seed
        self.sizes = Random(seed_for(seed, "sizes", exercise))

    def __call__(self, *ranges: tuple[int, int]) -> list[int]:
        """Return a size from each range (from, up to), all different; for learners, from SMALL.

        Raise CourseError if the ranges have no such sizes.
        """
        for _ in range(100):
            found: list[int] = []
            for low, high in ranges if self.hidden else [SMALL] * len(ranges):
                left = [size for size in range(low, high + 1) if size not in found]
                found += [self.sizes.choice(left)] if left else []
            if len(found) == len(ranges):
                return found
        raise CourseError(f"draw{ranges}: no sizes from these ranges are all different")

    def chance(self, *purpose: str) -> Random:
        """Return a random generator for words, rates and everything else that is no tensor.

        Its numbers reveal nothing about those for another purpose.
        """
        return Random(seed_for(self.seed, "chance", self.exercise, *purpose))


def recorded_cases(project: Project, chapter: str, exercise: str, hidden: bool) -> list[Case]:
    """Return the cases in an exercise's grader file, for graders or for learners.

    They are drawn on the first call and cached in the project.
    """
    if (names := (chapter, exercise, hidden)) not in project.drawn:
        project.drawn[names] = drawn_cases(project, *names)
    return [*project.drawn[names]]


def drawn_cases(project: Project, chapter: str, exercise: str, hidden: bool) -> list[Case]:
    """Draw the cases of an exercise, for graders or for learners."""
    seed = (project.course.seed if hidden else None) or PUBLIC_SEED
    written = project.grader(chapter, exercise).cases(Sizes(exercise, hidden, seed))
    kept = [one for one in written if not (hidden and one.settings.get("shown"))]
    like = project.course.chapter(chapter).exercise(exercise).like
    return [about(one.recorded(exercise, seed, hidden), exercise, like) for one in kept]


def about(case: Case, exercise: str, like: str) -> Case:
    """Return a case whose steps name an exercise, in place of the one whose cases it uses."""
    steps = (replace(one, name=exercise) if one.name == like else one for one in case.steps)
    return replace(case, steps=tuple(steps)) if like else case
