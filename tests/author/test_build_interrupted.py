"""A build that is interrupted leaves no process at work."""

import os
import shutil
import signal
import sys
import time

import pytest

from ..commands import ROOT, Begun
from ..instructor.test_interruption import children, members, nobody_is_left
from .small_course import GRADER, edit, make_course

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are counted on Linux only"),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which every reference is still to be made."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("solutions", "exercises", "graders"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "course_config.py", folder)
    (folder / "graders" / "references" / "made_from.json").unlink()
    return folder


def begin(course, command="build", written=None) -> Begun:
    """`tensorgrade build` in a session of its own."""
    return Begun("tensorgrade.cli", command, cwd=course, written=written, PYTHONPATH=str(ROOT))


@pytest.mark.parametrize(
    "number, everybody",
    [
        (signal.SIGINT, True),
        (signal.SIGINT, False),
        (signal.SIGTERM, False),
        (signal.SIGKILL, False),
    ],
)
def test_interrupted_it_leaves_nobody(course, number, everybody):
    process = begin(course)
    wait_until(lambda: children(process.pid), process)
    time.sleep(1)  # workers are in the midst of the next runs
    before = time.monotonic()
    (os.killpg if everybody else os.kill)(process.pid, number)
    said, _ = process.communicate(timeout=60)
    nobody_is_left(process.pid)
    assert members(process.pid) == [] and time.monotonic() - before < 30
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 130), said
    assert "Traceback" not in said


def test_the_authors_loop_builds_on_a_save_and_ends_with_everybody(tmp_path):
    root, said = make_course(tmp_path / "small"), tmp_path / "said.txt"
    said.touch()
    process = begin(root, "author", said)
    try:
        wait_until(lambda: said.read_text().count("waiting for the next save") == 1, process)
        edit(root, GRADER, "def cases(", "def casees(")
        wait_until(lambda: "there is no cases(pick), but casees" in said.read_text(), process)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(30)
    finally:
        nobody_is_left(process.pid)
    assert process.returncode == 130 and "Traceback" not in said.read_text(), said.read_text()


def wait_until(done, process) -> None:
    while not done():
        assert process.poll() is None
        time.sleep(0.1)
