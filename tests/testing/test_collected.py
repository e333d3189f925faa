"""Tests collected once by pytest are called directly, with one rule for their arguments."""

import pytest

from tensorgrade.attempts.results import state_of
from tensorgrade.author.proofs.made_attempts import MadeAttempts
from tensorgrade.course import CourseError
from tensorgrade.judging.diagnosis import Diagnosis, Kind, Wrong
from tensorgrade.messages.message import Plain, render
from tensorgrade.testing.collected import CollectedTests, call
from tensorgrade.testing.collecting import ExerciseTest

CH1, NAME = "ch1_simplified_attention", "softmax"


@pytest.mark.slow
def test_options_for_somebodys_own_runs_take_no_test_away(project, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k softmax --junitxml=written.xml")
    collected = CollectedTests(project.graders)
    for chapter in project.course.chapters:
        asked = {test.exercise for test in collected.of(chapter.name)}
        assert asked == {exercise.name for exercise in chapter.exercises}
    with pytest.raises(CourseError, match=r"run `pytest .*` to see why"):
        CollectedTests(tmp_path)


def raises(error):
    """A test that raises this, whatever it judges."""

    def function(attempt):
        raise error

    return ExerciseTest("test_it", CH1, NAME, "It raises.", 2, False, function)


def test_whatever_a_test_raises_is_a_result(project):
    attempt = MadeAttempts(project, project.exercises).right(CH1)
    attempt.run([NAME])
    for error, finding in (
        (Wrong(Diagnosis(Kind.FACT, Plain("it is wrong"))), "it is wrong"),
        (ZeroDivisionError(), None),
        (SystemExit(), None),
        (pytest.skip.Exception("not today"), None),
    ):
        result = call(raises(error), attempt)
        assert not result.passed and result.earned == 0 and result.asks == "It raises."
        assert bool(result.finding) == bool(finding) and state_of([result]) == "wrong"
        assert finding is None or finding in render(result.finding.diagnosis.problem)
    with pytest.raises(KeyboardInterrupt):
        call(raises(KeyboardInterrupt()), attempt)
    for n, passed in ((3, True), (4, False)):

        def function(attempt, n):
            assert n == 3

        test = ExerciseTest("test_it", CH1, NAME, "It is 3.", 2, False, function, {"n": n})
        assert call(test, attempt).passed is passed, "values of parametrize are passed"
