"""Find the files that hold tests, and the chapter and points of each test.

`exercises/test_<chapter>.py` holds a chapter's checks for learners. `graders/<chapter>/` holds a
file for each of its exercises. This module is a plugin of pytest that only collects: grading needs
no other.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TypeGuard

import pytest

from ..course import Course, CourseError, Exercise
from ..course_sources import load_course
from ..grader_files import import_from


@dataclass(frozen=True)
class ExerciseTest:
    """A test that judges an exercise.

    asks: the description for learners: the test's docstring, or else its name. guard: see
    `tensorgrade.exercise`. values: the arguments from `parametrize`, without the attempt.
    passes_given: a cache; by the given code of a find-the-bug exercise, True if it passes the test.
    """

    name: str
    chapter: str
    exercise: str
    asks: str
    points: float
    guard: bool
    function: Callable[..., object]
    values: Mapping[str, object] = field(default_factory=dict)
    passes_given: dict[str, bool] = field(default_factory=dict)


TEST = pytest.StashKey[ExerciseTest]()  # key of an item's test
COURSES = pytest.StashKey["Courses"]()
# Markers that change how pytest runs a test, beyond calling its function.
OTHER_MARKERS = ("skip", "skipif", "usefixtures", "xfail")
PREFIX = "test_"


class GraderFile(pytest.Module):
    """A file of tests, imported with its neighbours but without changes to the path."""

    def _getobj(self) -> ModuleType:
        try:
            return import_from(self.path.parents[1], f"{self.path.parent.name}.{self.path.stem}")
        except Exception as error:
            raise self.CollectError(f"{type(error).__name__}: {error}") from error


class Courses:
    """The courses that are used in a run, each read once."""

    def __init__(self) -> None:
        self.known: dict[Path, Course] = {}

    def of(self, tests: Path) -> Course:
        """Return the course of a folder of tests. Raises UsageError if its files do not match."""
        try:
            if tests not in self.known:
                self.known[tests] = load_course(tests)
            return self.known[tests]
        except CourseError as error:
            raise pytest.UsageError(str(error)) from None

    def judges_exercise(self, path: Path) -> bool:
        """Return True if a file is `<graders>/<chapter>/<exercise>.py` of a course."""
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


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COURSES] = Courses()
    config.addinivalue_line(
        "markers",
        "exercise(name, points, guard=False): the exercise that a test judges, and its share",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect an exercise's file below graders/ as tests, whatever its name."""
    collectors = yield
    is_grader = parent.config.stash[COURSES].judges_exercise(file_path)
    return [GraderFile.from_parent(parent, path=file_path)] if is_grader else collectors


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the run. Raises UsageError if a test lacks a marker or points differ."""
    items[:] = [item for item in items if not (judges(item) and is_for_others(item))]
    items[:] = of_one_exercise(items, config.getoption("keyword"))
    whole = not any("::" in argument for argument in config.args)
    judging = [item for item in items if judges(item)]
    share_out(judging, config.stash[COURSES], whole)


def of_one_exercise(items: list[pytest.Item], keyword: str) -> list[pytest.Item]:
    """Return the tests of the exercise whose name is the keyword of `-k`; all tests without one.

    pytest matches a keyword with parts of names: `mean` also matches `mean_of_rows`.
    """
    marked = ((item, item.get_closest_marker("exercise")) for item in items if judges(item))
    own: list[pytest.Item] = [
        item for item, marker in marked if marker and marker.args[:1] == (keyword,)
    ]
    return own or items


def is_for_others(item: pytest.Item) -> bool:
    """Return True for a test in graders/ that only learners have."""
    marker = item.get_closest_marker("exercise")
    return bool(
        marker and marker.kwargs.get("learners_only") and isinstance(item.parent, GraderFile)
    )


def judges(item: pytest.Item) -> TypeGuard[pytest.Function]:
    """Return True if a test judges an attempt."""
    return isinstance(item, pytest.Function) and "attempt" in item.fixturenames


def tests_folder(path: Path) -> Path:
    """Return the folder `exercises/` or `graders/` that contains a file of tests."""
    return path.parent if path.stem.startswith(PREFIX) else path.parent.parent


def chapter_of(path: Path) -> str:
    """Return the chapter of a file: `ch1_x` for `test_ch1_x.py` and for `ch1_x/normalise.py`."""
    is_learners = path.stem.startswith(PREFIX)
    return path.stem.removeprefix(PREFIX) if is_learners else path.parent.name


def marker_of(item: pytest.Item) -> pytest.Mark:
    """Return the `exercise` marker of a test. Raises UsageError if it is missing."""
    marker = item.get_closest_marker("exercise")
    if marker is None or not marker.args or "points" not in marker.kwargs:
        raise pytest.UsageError(
            f"{item.nodeid} takes `attempt` but has no @exercise(name, points=…)"
        )
    return marker


def share_out(items: Collection[pytest.Function], courses: Courses, whole: bool) -> None:
    """Store its ExerciseTest on each item. Raises UsageError if a test does not fit.

    whole: True if all tests of each file were collected. Then the points in the markers of an
    exercise's tests must add up to the exercise's `shares`.
    """
    shares: dict[tuple[Path, str], float] = defaultdict(float)
    for item in items:
        test = item.stash[TEST] = exercise_test(item, courses)
        shares[item.path, test.exercise] += marker_of(item).kwargs["points"]
    for (path, name), total in shares.items() if whole else ():
        wanted = exercise_of(path, name, courses).shares
        if abs(total - wanted) > 1e-6:
            raise pytest.UsageError(
                f"{path.name}: the tests of {name} add up to {total:g} points, not {wanted:g}"
            )


def exercise_test(item: pytest.Function, courses: Courses) -> ExerciseTest:
    """Return the test in an item. Raises UsageError if its marker or parameters do not fit."""
    marker = marker_of(item)
    exercise = exercise_of(item.path, marker.args[0], courses)
    return ExerciseTest(
        item.name,
        chapter_of(item.path),
        exercise.name,
        " ".join((item.function.__doc__ or item.name).split()),
        exercise.worth(marker.kwargs["points"]),
        marker.kwargs.get("guard", False),
        item.obj,
        values_of(item),
    )


def values_of(item: pytest.Function) -> Mapping[str, object]:
    """Return the arguments of a test besides the attempt: values from `parametrize`.

    Raises UsageError if the test needs anything else. The grader calls the function itself, so
    it would neither set up fixtures nor skip the test.
    """
    values = item.callspec.params if hasattr(item, "callspec") else {}
    needed = {*signature(item.obj).parameters}
    if (
        not item.config.pluginmanager.list_plugin_distinfo()
    ):  # otherwise autouse fixtures may come from other packages
        needed |= {*item.fixturenames} - {"request"}  # the attempt fixture uses that one
    needed -= {"attempt", *values}
    needed |= {marker.name for marker in item.iter_markers() if marker.name in OTHER_MARKERS}
    if any(marker.kwargs.get("indirect") for marker in item.iter_markers("parametrize")):
        needed.add("indirect")
    if needed:
        raise pytest.UsageError(
            f"{item.nodeid} needs {', '.join(sorted(needed))}; a test that judges an exercise can "
            "only take `attempt` and values of `parametrize`"
        )
    return values


def exercise_of(path: Path, name: str, courses: Courses) -> Exercise:
    """Return the exercise that a test in this file judges. Raises UsageError."""
    try:
        return courses.of(tests_folder(path)).chapter(chapter_of(path)).exercise(name)
    except CourseError as error:
        raise pytest.UsageError(str(error)) from None
