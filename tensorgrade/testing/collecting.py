"""Which files hold tests, of which chapter, and what each test is worth.

`exercises/test_<chapter>.py` holds a chapter's checks for learners, `graders/<chapter>/` a file for
each of its exercises.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from ..course import Course, CourseError, Exercise
from ..course_sources import load_course
from ..grader_files import import_from


@dataclass(frozen=True)
class Question:
    """What a test asks: about which exercise, in its own line; and what the answer is worth."""

    chapter: str
    exercise: str
    asks: str
    points: float


QUESTION = pytest.StashKey[Question]()  # of an item
PREFIX = "test_"


class GraderFile(pytest.Module):
    """A file of tests that is imported with its neighbours, without anything put on the path."""

    def _getobj(self) -> ModuleType:
        try:
            return import_from(self.path.parents[1], f"{self.path.parent.name}.{self.path.stem}")
        except Exception as error:
            raise self.CollectError(f"{type(error).__name__}: {error}") from error


class Courses:
    """The courses that a run meets, each read once."""

    def __init__(self) -> None:
        self.known: dict[Path, Course] = {}

    def of(self, tests: Path) -> Course:
        """The course of a folder of tests. Raises UsageError where its files do not fit."""
        try:
            if tests not in self.known:
                self.known[tests] = load_course(tests)
            return self.known[tests]
        except CourseError as error:
            raise pytest.UsageError(str(error)) from None

    def judges_exercise(self, path: Path) -> bool:
        """Whether a file is `<graders>/<chapter>/<exercise>.py` of a course."""
        graders = path.parent.parent
        has_course = (graders / "course.json").exists() or (
            graders.parent / "course_config.py"
        ).exists()
        return (
            path.suffix == ".py"
            and has_course
            and any(
                (chapter.name, exercise.name) == (path.parent.name, path.stem)
                for chapter in self.of(graders).chapters
                for exercise in chapter.exercises
            )
        )


def tests_folder(path: Path) -> Path:
    """`exercises/` or `graders/`, from a file of tests in it."""
    return path.parent if path.stem.startswith(PREFIX) else path.parent.parent


def chapter_of(path: Path) -> str:
    """`ch1_x` for `exercises/test_ch1_x.py` and for `graders/ch1_x/normalise.py`."""
    is_learners = path.stem.startswith(PREFIX)
    return path.stem.removeprefix(PREFIX) if is_learners else path.parent.name


def marker_of(item: pytest.Item) -> pytest.Mark:
    """The marker that says what a test judges. Raises UsageError where it is not there."""
    marker = item.get_closest_marker("exercise")
    if marker is None or not marker.args or "points" not in marker.kwargs:
        raise pytest.UsageError(
            f"{item.nodeid} takes `attempt` but has no @exercise(name, points=…)"
        )
    return marker


def asked_by(item: pytest.Function) -> str:
    """The test's own line: its docstring."""
    return " ".join((item.function.__doc__ or item.name).split())


def share_out(items: Collection[pytest.Function], courses: Courses, whole: bool) -> None:
    """Say of every test what it is worth. Raises UsageError for a marker that does not fit.

    whole: all tests are there, so that their shares must add up.
    """
    shares: dict[tuple[Path, str], float] = defaultdict(float)
    for item in items:
        marker = marker_of(item)
        exercise = exercise_of(item.path, marker.args[0], courses)
        shares[item.path, exercise.name] += marker.kwargs["points"]
        points = exercise.worth(marker.kwargs["points"])
        item.stash[QUESTION] = Question(
            chapter_of(item.path), exercise.name, asked_by(item), points
        )
    for (path, name), total in shares.items() if whole else ():
        wanted = exercise_of(path, name, courses).shares
        if abs(total - wanted) > 1e-6:
            raise pytest.UsageError(
                f"{path.name}: the tests of {name} add up to {total:g} points, not {wanted:g}"
            )


def exercise_of(path: Path, name: str, courses: Courses) -> Exercise:
    """The exercise that a test in this file judges. Raises UsageError."""
    try:
        return courses.of(tests_folder(path)).chapter(chapter_of(path)).exercise(name)
    except CourseError as error:
        raise pytest.UsageError(str(error)) from None
