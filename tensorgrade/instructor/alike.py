"""Answers that are nearly the same, as a list for a human: it says how common each is, and no more.

Right answers to a short exercise are alike. What a learner's text is made of is looked at in the
learner's process (runner/reading.py); here texts are only counted.
"""

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..attempts.maker import AttemptMaker
from ..runner.source import Unreadable
from ..sources.finding import find_handins
from ..sources.handins import Handin

COMMON = 0.2  # what so many of a class have in common is how one writes it
TO_DO = "NotImplementedError"


@dataclass(frozen=True)
class Alike:
    """students: whose answers to an exercise are alike. answers: how many there are in all.

    lines: how long they are, without comments and docstrings.
    """

    exercise: str
    students: tuple[str, ...]
    answers: int
    lines: int


def answers_alike(maker: AttemptMaker, submitted: Path) -> list[Alike]:
    """Groups of answers that differ in names of variables, comments and spaces at most.

    Those that are rarest and longest first; what many have in common is left out. Raises
    CourseError where learners' files cannot be read.
    """
    same: dict[tuple[str, str], list[str]] = defaultdict(list)
    answers: dict[str, int] = defaultdict(int)
    for handin in find_handins(submitted, maker.course)[0]:
        for exercise, shape in shapes_of(maker, handin).items():
            same[exercise, shape].append(handin.student)
            answers[exercise] += 1
    groups = [
        Alike(exercise, tuple(students), answers[exercise], shape.count("\n") + 1)
        for (exercise, shape), students in same.items()
        if 1 < len(students) <= max(2, COMMON * answers[exercise])
    ]
    return sorted(groups, key=lambda g: (len(g.students) / g.answers, -g.lines, g.exercise))


def shapes_of(maker: AttemptMaker, handin: Handin) -> dict[str, str]:
    """What is left of a learner's answers, by exercise; nothing of a file that nobody can read."""
    if handin.missing or handin.reason:
        return {}
    try:
        found = maker.reader().shapes(maker.source_of(handin).text)
    except Unreadable:
        return {}
    own = maker.names_in(handin.chapter)
    last = {names[0]: shape for names, shape in found if names and names[0] in own}
    return {exercise: shape for exercise, shape in last.items() if TO_DO not in shape}
