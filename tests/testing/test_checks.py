"""Checks of a course are called as data, pytest shows each of them, and settings scale points."""

import shutil

import pytest
import torch

from tensorgrade.attempts.attempt import Attempt
from tensorgrade.attempts.checking import checked
from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.maker import AttemptMaker
from tensorgrade.attempts.naming import answer_to
from tensorgrade.attempts.results import state_of
from tensorgrade.attempts.setup import Setup
from tensorgrade.course import Call, Check

from ..support import ROOT, Judge, run_pytest

CH1, NAME = "ch1_simplified_attention", "softmax"


def test_an_error_of_a_check_itself_is_a_result(project):
    program = project.program(CH1, project.solution(CH1).read_text("utf-8"))
    lab = Lab(None, project.course.limits)
    maker = AttemptMaker(Setup(project.exercises, "none"))
    attempt = Attempt(lab, program, maker.course, maker.side(CH1))
    part = answer_to(attempt, NAME)
    check = Check(2, "It raises.", (Call("no_such_check", (), {}),))
    result = checked(part, check, part.failure(check))
    assert (result.earned, result.finding, state_of([result])) == (0, None, "wrong")


@pytest.mark.slow
def test_each_check_is_shown_with_its_sentence_under_its_file(tmp_path):
    """A learner's conftest.py is not read."""
    (tmp_path / "conftest.py").write_text("raise SystemExit('read')\n", encoding="utf-8")
    shutil.copy(ROOT / "solutions" / f"{CH1}.py", tmp_path)

    def listed(*words):
        done = run_pytest(*words, "--collect-only", "-q", "--attempt", tmp_path)
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
def test_points_in_the_settings_scale_those_of_the_checks(tmp_path):
    """Softmax is worth 12 points, and its checks say 10; only one of 1.5 notices the mistake."""
    for name in ("solutions", "graders", "exercises"):
        (tmp_path / name).symlink_to(ROOT / name)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text = config.replace("points={}", 'points={"softmax": 12}')
    (tmp_path / "course_config.py").write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    right = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")
    wrong = right.replace("x - x.amax(dim=dim, keepdim=True)", "x")
    judge = Judge(tmp_path)
    for text, points in ((right, 12), (wrong, 10.2)):
        found = judge(CH1, NAME, text, explain=False)
        assert (found.points, found.max_points) == (points, 12)
    judge.close()


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_solutions_have_full_points_on_a_machine_with_a_gpu(device):
    told = ("--attempt", "solutions", "--device", device, "--isolation", "none")
    ran = run_pytest("graders/", *told, timeout=500)
    assert ran.returncode == 0 and "439 of 439 points" in ran.stdout, ran.stdout[-2000:]
