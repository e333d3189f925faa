"""Runs the visible checks of one exercise in this process, without leaving a trace in it."""

import contextlib
import functools
import importlib.util
import io
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from ..attempt import Attempt
from ..course import Exercise
from ..desk import Desk
from ..diagnosis import Diagnosis, Wrong
from ..extracting import NotebookSource
from ..interrupting import Interrupter
from ..results import CheckResult
from ..runner.errors import OutOfTime
from .material import find_exercises
from .running import running_source


@dataclass(frozen=True)
class Checked:
    """What the visible checks of an exercise came to.

    mistakes: messages of the known mistakes that were recognised, by name.
    """

    exercise: Exercise
    results: tuple[CheckResult, ...]
    mistakes: dict[str, str]
    source: NotebookSource

    @property
    def points(self) -> float:
        """What the checks that passed are worth."""
        return round(sum(result.points for result in self.results if result.passed), 6)

    @property
    def state(self) -> str:
        """`done`, `to do` where nothing is written yet, or `wrong`."""
        failed = [result.diagnosis for result in self.results if not result.passed]
        if not failed:
            return "done"
        return "to do" if all(diagnosis.kind == "to do" for diagnosis in failed) else "wrong"

    @property
    def first(self) -> CheckResult | None:
        """The check to look at first: the first that failed for another reason than `to do`."""
        failed = [result for result in self.results if not result.passed]
        return next(
            (r for r in failed if r.diagnosis.kind != "to do"), failed[0] if failed else None
        )


def check_here(name: str) -> Checked:
    """The visible checks of an exercise on the running notebook. Raises CourseError."""
    return check(find_exercises(), name, running_source())


@functools.lru_cache(maxsize=32)
def check(exercises: Path, name: str, source: NotebookSource) -> Checked:
    """The visible checks of an exercise on a source text."""
    desk = Desk(exercises)
    chapter, exercise = desk.course.exercise(name)
    with undisturbed(desk, chapter.name):
        attempt = desk.attempt_from_source(chapter.name, source.text, f"{chapter.name}.ipynb")
        run_cases(attempt, name, desk.course.limits.load_seconds)
        tests = tests_of(exercises / f"test_{chapter.name}.py", name)
        results = tuple(result_of(test, attempt) for test in tests)
    part = getattr(attempt, name)
    known = part.mistakes if any(not result.passed for result in results) else ()
    messages = {mistake: attempt.fingerprints.messages[mistake] for mistake in known}
    return Checked(exercise, results, messages, source)


def run_cases(attempt: Attempt, name: str, seconds: float) -> None:
    """Run all cases of an exercise; what has not come to an end in time is noted as such."""
    timer = Interrupter(seconds)
    try:
        getattr(attempt, name).seen
    finally:
        timer.cancel()


def tests_of(path: Path, name: str) -> list:
    """The test functions in a file that judge an exercise, in the order in which they stand."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [f for key, f in vars(module).items() if key.startswith("test_")]
    return [f for f in functions if marker_of(f).args[0] == name]


def marker_of(test):
    """The `exercise` marker of a test function."""
    return next(mark for mark in test.pytestmark if mark.name == "exercise")


def result_of(test, attempt: Attempt) -> CheckResult:
    """Run one test on an attempt whose cases have run."""
    marker = marker_of(test)
    said = " ".join((test.__doc__ or test.__name__).split())
    result = CheckResult(marker.args[0], marker.kwargs["points"], True, said)
    try:
        test(attempt)
    except Wrong as wrong:
        result.passed, result.diagnosis = False, wrong.diagnosis
    except OutOfTime:
        result.passed, result.diagnosis = False, Diagnosis("timeout", "it takes too long")
    return result


@contextlib.contextmanager
def undisturbed(desk: Desk, chapter: str):
    """Keep away what learner code prints and warns; put back random state and modules."""
    names = [c.name for c in desk.course.chapters]
    names += [path.stem for path in desk.tests.glob(f"given/{chapter}/*.py")]
    modules, random = {name: sys.modules.get(name) for name in names}, torch.get_rng_state()
    silence = io.StringIO()
    try:
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            with warnings.catch_warnings(action="ignore"):
                yield
    finally:
        torch.set_rng_state(random)
        for name, module in modules.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
