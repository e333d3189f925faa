"""`sandbox (nobody)`: in a container without Landlock, root's children become `nobody`.

`pytest -m "" tests/attacks/test_nobody.py --amount 100` sends every attack there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ..container import contained
from ..support import amount, needs
from .conftest import (
    CHAPTER,
    HONEST,
    RIGHT,
    SECRET,
    WRONG,
    attack_file,
    attacks,
    environment,
    files_named_after_token,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machine,
    pytest.mark.timeout(1800),
    needs("containers, made by root"),
]
# Attacks on what Landlock keeps away elsewhere.
SENT = "look_for_answers read_gradebook read_other_submissions read_environment".split()
SENT += "kill_everyone trace_parent copy_memory many_files shared_memory daemon".split()
# Every user may read command lines and the files of the system, which hold no answer.
MAY_LOOK = {"read_environment", "look_for_references"}
SYSTEM = "ACHIEVED: sees ../../etc/"  # instead of other submissions


@pytest.fixture(scope="module")
def attacked(classroom, listener, tmp_path_factory):
    """Honest learners and attackers, graded in a container without Landlock."""
    room = classroom("contained", listener.port)
    room.submit_honest()
    for name in attacks() if amount(1) >= 100 else SENT:
        room.submit_attack(name)
    # Other copies of this course that lie open on this machine are no part of such a container.
    source = attack_file("look_for_answers").read_text(encoding="utf-8")
    room.submit("look_for_answers", WRONG + room.fill(source.replace("/*/*/solutions", "/none")))
    seen = len(listener.callers)
    room.grade(tmp_path_factory.mktemp("out"), "--jobs", "1", in_container=True)
    room.left = [*files_named_after_token(), *listener.callers[seen:]]
    return room


def test_attacks_earn_and_reach_nothing(attacked):
    wrong = attacked.rows["ab_wrong"]
    sent = attacked.rows.keys() - set(HONEST)
    assert len(sent) >= len(SENT)
    assert all(attacked.rows[name].keys() == wrong.keys() for name in sent)
    rows = [(place, row) for name in sent for place, row in attacked.rows[name].items()]
    assert [row for place, row in rows if row["points"] > wrong[place]["points"]] == []
    said = [row["message"] for _, row in rows if row["student"] not in MAY_LOOK]
    said = [message for message in said if SYSTEM not in message]
    assert [message for message in said if "ACHIEVED" in message or SECRET in message] == []
    assert {row["isolation"] for _, row in rows} == {"sandbox (nobody)"}
    assert attacked.left == []


def test_honest_learners_beside_them_have_their_points(attacked):
    for student in RIGHT:
        assert {row["status"] for row in attacked.rows[student].values()} == {"passed"}
    assert attacked.rows["mn_stub"][CHAPTER, "softmax"]["status"] == "not_attempted"


@pytest.fixture
def opened(classroom):
    """A course in a folder that every user can enter, with one submission."""
    room = classroom("opened")
    room.submit("ada", "x = 1\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        shutil.copytree(room.course, Path(folder, "course"))
        shutil.copytree(room.submitted, Path(folder, "submitted"))
        yield Path(folder)


def test_what_everybody_can_read_is_not_graded_there(opened, tmp_path):
    """The trial names what is open, and nothing is written."""
    (opened / "course" / "solutions").chmod(0o700)
    words = ["grade", "../submitted", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        contained([sys.executable, "-m", "tensorgrade.cli", *words]),
        cwd=opened / "course",
        env=environment(),
        capture_output=True,
        text=True,
    )
    said = " ".join(done.stderr.split())
    assert done.returncode == 2 and "--isolation none" in said, said
    assert "read the hidden references" in said and "read files in ../submitted" in said
    assert "the solutions," not in said and not (tmp_path / "out" / "results.jsonl").exists()


def test_an_ordinary_user_without_landlock_gets_a_sentence(opened):
    """There is no sandbox then, and doctor says what would give one."""
    os.chmod(opened, 0o755)
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [*words, sys.executable, "-m", "tensorgrade.cli", "doctor"]
    done = subprocess.run(
        contained(command),
        cwd="/",
        env=environment() | {"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "isolation on this machine: none" in done.stdout.lower()
    assert "5.13" in done.stdout and "Traceback" not in done.stdout + done.stderr
