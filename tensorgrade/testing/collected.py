"""The tests of a folder, collected once and called on one attempt after another.

pytest finds the tests, reads their markers and expands `parametrize`. It does not run them: a test
that takes only an attempt is a function to call, and pytest's own run costs more than most tests.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from ..attempts.attempt import Attempt, ExerciseAttempt
from ..attempts.details import in_place, in_text
from ..attempts.given_code import is_as_given, is_replaced
from ..attempts.pipeline import run_and_score
from ..attempts.public_side import printed_lines, trace
from ..attempts.recognized import mistakes_on
from ..attempts.results import CheckResult
from ..attempts.where import where
from ..course import CourseError
from ..judging.diagnosis import Diagnosis, Finding, Kind, Wrong
from ..messages.checks import ConstantInitialWeights, NotFixedYet, SetsASeed
from ..messages.details import OtherCodeRuns
from .collecting import TEST, ExerciseTest

COLLECT = [
    "--collect-only",
    *("-o", "addopts="),
    *("--import-mode=importlib", "--assert=plain", "--capture=no"),
    # Plugins of other packages take time. Of pytest's own plugins, two would print or write files,
    # and one collects garbage five times, which scans all of torch.
    *("--disable-plugin-autoload", "-p", "tensorgrade.testing.collecting"),
    *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:unraisableexception"),
]
# Functions that add to the diagnosis of a failed check, from the text or from other runs of public
# cases.
DETAILS: tuple[Callable[[ExerciseAttempt, Diagnosis], Diagnosis], ...] = (
    in_place.add,
    in_text.still_raises,
    in_text.stops_gradients,
    in_text.shows_forbidden_call,
)


class CollectedTests:
    """The tests of `graders/` or `exercises/`. Raises CourseError if they cannot be collected."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.by_chapter: dict[str, list[ExerciseTest]] = {}
        self.shares: dict[tuple[str, str, str], float] = {}  # see attempts/pipeline.py
        # Modules are named relative to rootdir. The folder above makes these names different for
        # `graders/` and `exercises/`, so that two folders of tests in a process share no modules.
        arguments = [*COLLECT, f"--rootdir={folder.parent}", str(folder)]
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PYTEST_ADDOPTS", raising=False)  # meant for the user's own runs of pytest
            code = pytest.main(arguments, plugins=[self])
        if code != pytest.ExitCode.OK:
            raise CourseError(
                f"the graders could not be collected: pytest ended with {code!r}; "
                f"run `pytest {folder}` to see why"
            )

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Sort the tests by chapter; a hook of pytest."""
        for test in (item.stash[TEST] for item in session.items if TEST in item.stash):
            self.by_chapter.setdefault(test.chapter, []).append(test)

    def of(self, chapter: str, *exercises: str) -> list[ExerciseTest]:
        """Return the tests of a chapter, or of some exercises in it."""
        found = self.by_chapter[chapter]
        return [test for test in found if not exercises or test.exercise in exercises]

    def call(self, attempt: Attempt, *exercises: str) -> dict[str, list[CheckResult]]:
        """Call the tests of these exercises (default: all) on the observations made so far."""
        results: dict[str, list[CheckResult]] = {}
        for test in self.of(attempt.chapter.name, *exercises):
            results.setdefault(test.exercise, []).append(call(test, attempt))
        return results

    def results(self, attempt: Attempt, *exercises: str) -> list[CheckResult]:
        """Run the cases of these exercises (default: all), then check and score them."""
        return run_and_score(attempt, self, *exercises)


def call(test: ExerciseTest, attempt: Attempt) -> CheckResult:
    """Call a test on an attempt. An error of the test itself is a result too, without a finding."""
    try:
        test.function(attempt=attempt, **test.values)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest.skip's error does not derive from Exception
        return result_of(test, attempt, error)
    return result_of(test, attempt, None)


def result_of(
    test: ExerciseTest, attempt: Attempt | None, error: BaseException | None
) -> CheckResult:
    """Return the result of a test that raised this error; None means that it passed.

    attempt: None if pytest failed before there was one.
    """
    part = attempt.exercises[test.exercise] if attempt else None
    finding = finding_of(test, part, error) if error else None
    result = CheckResult(test.exercise, test.points, error is None, test.asks, finding)
    if part and part.given_code:
        result.given = partial(passes_as_given, test, part)
    return result


def finding_of(
    test: ExerciseTest, part: ExerciseAttempt | None, error: BaseException
) -> Finding | None:
    """Return the finding on a failed check; None if the test has a bug itself."""
    if isinstance(error, Wrong):
        diagnosis = error.diagnosis
    else:
        return None
    if part is None:
        return Finding(test.asks, diagnosis)
    if is_as_given(part):  # the learner has not changed the given code: it is still to do
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=NotFixedYet(diagnosis.problem))
    return finding_on(part, test.asks, diagnosis)


def finding_on(part: ExerciseAttempt, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    if is_replaced(part):
        said = OtherCodeRuns(part.name)
        return Finding(
            asks, Diagnosis(Kind.FACT, said, diagnosis.describe_call, case=diagnosis.case)
        )
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = isinstance(diagnosis.problem, ConstantInitialWeights | SetsASeed)
    hidden = part.attempt.references.hidden
    if not hidden:
        for add in DETAILS:
            diagnosis = add(part, diagnosis)
    names = () if unfinished else mistakes_on(part, diagnosis)
    # If learner code raised an error, only the values on the path to it count. Its line is certain,
    # and other values would distract from it.
    error = diagnosis.error
    raised = bool(error and error.line)
    fact, fact_line = None, None
    if not unfinished and not hidden:
        fact, fact_line = in_text.plain_fact(part) or (None, None)
    return Finding(
        asks,
        diagnosis,
        {name: part.attempt.fingerprints.messages[name] for name in names},
        trace=lambda: trace(part, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(part, raised),
        said=lambda: [] if unfinished else printed_lines(part, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (part.line_of(error) if error else None),
        place=part.attempt.place,
    )


def passes_as_given(test: ExerciseTest, part: ExerciseAttempt) -> bool:
    """Return True if the given code of a find-the-bug exercise passes a test. It runs only once."""
    known = test.passes_given
    if part.given_code not in known:
        given = part.attempt.given
        given.run([part.name])
        try:
            test.function(attempt=given, **test.values)
            known[part.given_code] = True
        except Wrong:
            known[part.given_code] = False
    return known[part.given_code]
