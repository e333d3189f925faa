"""The grader is killed in the middle of a class: nothing stays behind, nothing is lost."""

import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest

from tensorgrade.instructor.store import Store

from .conftest import BECOME_SUBREAPER, environment, hand_in_honest, own_children

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SLOW = "import time\ntime.sleep(1)\n"


def start_grading(room, out) -> subprocess.Popen:
    """`tensorgrade grade` in the background."""
    command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(room.submitted), "--out"]
    return subprocess.Popen(
        [*command, str(out), "--jobs", "2"],
        cwd=room.course,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_until(condition, seconds: float) -> bool:
    """Return True if a condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not condition():
        time.sleep(0.05)
    return bool(condition())


@pytest.mark.skipif(sys.platform != "linux", reason="orphans can be counted on Linux only")
def test_killed_grader_leaves_nothing_and_goes_on(classroom, tmp_path):
    """kill -9 of the grader alone: its workers and warm processes end; a second start completes."""
    room = classroom("interrupted")
    hand_in_honest(room)
    for student in ("ba_slow", "bb_slow", "yy_slow", "yz_slow"):
        room.hand_in(student, SLOW)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    room.grade(whole, "--jobs", "1")
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    known = own_children()
    grader = start_grading(room, cut)
    assert wait_until(lambda: Store(cut).count() >= 2, 90)
    os.kill(grader.pid, signal.SIGKILL)
    grader.wait()
    assert wait_until(lambda: own_children() <= known, 20), "a process outlived the grader"
    before = Store(cut).results()
    assert len(before) < 12, "it was killed before the end"
    room.grade(cut)
    assert before.items() <= Store(cut).results().items()
    assert (cut / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()
