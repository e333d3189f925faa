"""Checks of a course are called as data, and pytest shows each of them as a test."""

import shutil

import pytest

from tensorgrade.attempts.checking import checked
from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.maker import AttemptMaker
from tensorgrade.attempts.naming import answer_to
from tensorgrade.attempts.results import state_of
from tensorgrade.attempts.setup import Setup
from tensorgrade.course import Call, Check
from tensorgrade.judging.diagnosis import Diagnosis, Kind, Wrong

from ..support import ROOT, run_pytest

CH1, NAME = "ch1_simplified_attention", "softmax"


def test_whatever_a_check_raises_is_a_result(project):
    program = project.program(CH1, project.solution(CH1).read_text("utf-8"))
    lab = Lab(None, project.course.limits)
    attempt = AttemptMaker(Setup(project.exercises, "none")).attempt_with(lab, program)
    part = answer_to(attempt, NAME)
    for error, said in (
        (Wrong(Diagnosis(Kind.FACT, "it is wrong")), "it is wrong"),
        (ZeroDivisionError(), None),
    ):

        def fails(group, error=error):
            assert group == "values"
            raise error

        part.fails = fails
        check = Check(2, "It raises.", (Call("fails", ("values",), {}),))
        result = checked(part, check, part.failure(check))
        assert not result.passed and result.earned == 0 and result.asks == "It raises."
        assert bool(result.finding) == bool(said) and state_of([result]) == "wrong"
        assert said is None or said in result.finding.diagnosis.problem


@pytest.mark.slow
def test_each_check_is_shown_with_its_sentence_under_its_file(tmp_path):
    def listed(*words):
        done = run_pytest(*words, "--collect-only", "-q", "--attempt", "solutions", cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line for line in done.stdout.splitlines() if "::" in line]

    shown, says = "softmax: Along the last dimension", "softmax: Along the last dimension, for"
    for file, extra in ((f"graders/{CH1}/softmax.py", 0), (f"exercises/{CH1}.py", 1)):
        own = [line for line in listed(file) if "::softmax: " in line]
        assert all(line.startswith(f"{file}::") for line in own)
        assert sum(says in line for line in own) == 1
        assert sum(shown in line for line in own) == 1 + extra, "one is for learners only"
    bugs = listed(f"graders/{CH1}/simplified_self_attention.py")
    assert any("::bug_simplified_self_attention: " in line for line in bugs)


@pytest.mark.slow
def test_a_missing_file_of_a_learner_is_shown_too(tmp_path):
    shutil.copytree(ROOT / "courses" / "tokens" / "exercises", tmp_path / "exercises")
    (tmp_path / "exercises" / "ch1_byte_pairs.py").unlink()
    done = run_pytest("exercises", "-q", cwd=tmp_path)
    assert done.returncode == 1 and "exercises/ch1_byte_pairs.py" in done.stdout, done.stdout
