"""Adopted mistakes: wrong answers of a class that an instructor gave a name and a message.

They are learners' code. They are stored as text next to the exercise's grader file, and run only
in isolation like other learner code.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ...attempts.in_child import InChild
from ...course import CourseError
from ...exchange.cases import Case
from ...exchange.observation import Observation, Outcome
from ...exchange.text import LONGEST_MESSAGE
from ...grader_files import grader_path
from ...isolation.levels import choose_level
from ...isolation.warm_process import WarmProcess
from ...project import Project

LONGEST_OF_TWO = (LONGEST_MESSAGE - 1) // 2  # a row has to hold two messages


@dataclass(frozen=True)
class Adopted:
    """A wrong answer with a name. source: the whole text of a learner's file."""

    name: str
    message: str
    source: str


def adopted_file(project: Project, chapter: str, exercise: str) -> Path:
    """Return the path of an exercise's adopted mistakes."""
    return grader_path(project.graders, chapter, exercise).with_suffix(".adopted.json")


def adopted_mistakes(project: Project, chapter: str, exercise: str) -> list[Adopted]:
    """Return the adopted mistakes of an exercise. Raise CourseError for an invalid file."""
    path = adopted_file(project, chapter, exercise)
    if not path.exists():
        return []
    try:
        return [Adopted(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError):
        raise CourseError(f"{path} does not hold adopted mistakes") from None


def adopt(project: Project, chapter: str, exercise: str, mistake: Adopted) -> Path:
    """Add a mistake to an exercise's adopted ones and return the file's path.

    Raise CourseError if the name or the message is not allowed.
    """
    present = adopted_mistakes(project, chapter, exercise)
    taken = {one.name for one in [*project.mistakes, *present]}
    if not mistake.name.isidentifier() or mistake.name in taken:
        why = "is taken" if mistake.name in taken else "is not a name: use letters, digits, _"
        raise CourseError(f"{mistake.name!r} {why}")
    if not 0 < len(mistake.message) <= LONGEST_OF_TWO:
        length = len(mistake.message)
        raise CourseError(
            f"the message has {length} characters; 1 to {LONGEST_OF_TWO} are asked for"
        )
    path = adopted_file(project, chapter, exercise)
    text = json.dumps([asdict(one) for one in [*present, mistake]], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    return path


def set_deduction(project: Project, exercise: str, name: str, share: float) -> None:
    """Write a mistake's deduction, a share of the exercise, into the course's `checks.py`."""
    path = project.graders / "checks.py"
    text = path.read_text(encoding="utf-8") if path.exists() else '"""What this course adds."""\n'
    key = f"{exercise}.{name}"
    has_table = re.search(r"^PRICES\b", text, re.MULTILINE)
    line = f'PRICES["{key}"] = {share:g}' if has_table else f'PRICES = {{"{key}": {share:g}}}'
    path.write_text(f"{text.rstrip()}\n{line}\n", encoding="utf-8")


def observe_adopted(
    project: Project, chapter: str, mistakes: list[Adopted], cases: list[Case], isolation: str
) -> Iterator[tuple[Adopted, list[Observation]]]:
    """Run learners' texts on cases, each in a child of a warm process, and yield the observations.

    Raise CourseError if a text cannot be loaded.
    """
    if not mistakes:
        return
    course = project.course
    warm = WarmProcess(course.limits, choose_level(course.isolation, isolation, "cpu"))
    try:
        for one in mistakes:
            backend = InChild(project.submission(chapter, one.source), warm, course.limits)
            if backend.load().status != Outcome.LOADED:
                raise CourseError(f"{chapter}: the text of {one.name}, adopted, cannot be loaded")
            yield one, backend.run(cases)
            backend.close()
    finally:
        warm.close()
