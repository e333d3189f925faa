"""Level `uid`: in a container without Landlock, a user of its own keeps learner code from others.

`pytest -m "" tests/attacks/test_own_user.py --amount 100` sends every attack there.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tensorgrade.course import Limits
from tensorgrade.isolation.levels import UID, Level
from tensorgrade.isolation.warm_process import WarmProcess
from tensorgrade.runner.own_user import USERS, processes_of

from ..container import contained
from ..support import amount, needs
from .conftest import (
    CHAPTER,
    HONEST,
    SECRET,
    TOKEN,
    WRONG,
    attack_file,
    attacks,
    environment,
    files_named_after_token,
    hand_in_honest,
)
from .test_layers import ATTACKS, LIBC, achieved, sources_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.machine,
    pytest.mark.timeout(1800),
    needs("containers, made by root"),
]
reachable = needs("a course that other users can reach")
FILTERED = replace(UID, layers=UID.layers | {"seccomp"})
SAME_USER = Level("for a test", UID.layers - {"uid", "privileges"}, "")
BARE = "signal the warm process", "take three gibibytes", "open hundreds of files"
BARE += "uncover /proc", "open the warm process's memory"
# Attacks that only the system-call filter stops, and that harm no other process in a container.
SENT = "look_for_answers read_gradebook read_other_submissions read_environment".split()
SENT += "kill_everyone trace_parent many_files shared_memory daemon".split()
# Without Landlock there are folders to write to; what is left there must go with its child.
MAY_WRITE = {"many_files", "shared_memory"}
SYSTEM = "ACHIEVED: sees ../../etc/"  # instead of other submissions: every user may read it


class Contained(WarmProcess):
    """A warm process in a container."""

    def command(self, control_fd: int) -> list[str]:
        return contained(super().command(control_fd), self.folder)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Warm processes by level, each in a container of its own, started once."""
    started: dict[str, WarmProcess] = {}

    def start(level: Level) -> WarmProcess:
        key = str(sorted(level.layers))
        if key not in started:
            Contained.folder = tmp_path_factory.mktemp("container")
            started[key] = Contained(Limits(load_seconds=5), level)
        return started[key]

    yield start
    for process in started.values():
        process.close()


def test_it_stops_what_it_promises_and_more_with_a_filter(warm, listener):
    for attack in (one for one in ATTACKS if one != "read the answers"):
        sources = sources_of(attack, listener)
        assert not achieved(warm(FILTERED), *sources), attack
        assert attack not in BARE or not achieved(warm(UID), *sources), attack


def test_what_only_root_may_read_is_out_of_reach(warm, tmp_path):
    """The very file is read by a child that is the same user as the grader."""
    answers = tmp_path / "answers"
    answers.write_text("x")
    read = f"ACHIEVED = open({str(answers)!r}).read()\n"
    assert not achieved(warm(UID), read) and achieved(warm(SAME_USER), read)


@contextmanager
def sibling_of(warm: WarmProcess):
    """A child that is alive beside others."""
    child = warm.fork()
    yield child
    child.close()


SIGNAL_ALL = """
import json
import os
mine, reached = os.getpid(), []
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        if int(name) != mine:
            os.kill(int(name), 0)
            reached.append(name)
    except OSError:
        pass
if reached: ACHIEVED = reached
"""


def test_no_two_children_are_the_same_user(warm):
    """Not even without a filter can one signal another; as the same user it could."""
    for level, reaches in ((UID, False), (SAME_USER, True)):
        with sibling_of(warm(level)):
            assert achieved(warm(level), SIGNAL_ALL) is reaches


LEAVE = (
    LIBC
    + """
import signal
for folder in ("/tmp", "/dev/shm"):
    open(f"{folder}/TOKEN", "w").write("x")
os.makedirs("/tmp/TOKEN-folder/below")
if os.fork() == 0:
    os.setsid()
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    os.dup2(os.open("/dev/null", os.O_RDWR), 3)
    if os.fork() == 0:
        while True:  # try to end any process that could end this one
            for pid in range(os.getpid() + 1, os.getpid() + 200):
                if libc.kill(pid, 9) == 0:
                    open("/tmp/TOKEN-killed", "w").close()
    os.execv("/bin/sleep", ["TOKEN", "1000"])
""".replace("TOKEN", TOKEN)
)


def running() -> list[int]:
    """Processes of this machine that run as one of the children's users."""
    return list(processes_of(*USERS))


def test_what_a_child_leaves_goes_with_it(warm):
    """Start a process that would outlive it, and write files into folders open to all users."""
    seen = "import os\n" + LEAVE + "import time\ntime.sleep(.3)\n"
    seen += f"if os.path.exists('/tmp/{TOKEN}'): ACHIEVED = 1\n"
    assert achieved(warm(UID), seen), "it does leave them"
    with sibling_of(warm(UID)):
        pass
    deadline = time.monotonic() + 30  # tests beside this one have such for a moment, too
    while (left := [*running(), *files_named_after_token()]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


@pytest.fixture(scope="module")
def attacked(classroom, listener, tmp_path_factory):
    """Honest learners and attackers, graded in a container without Landlock."""
    room = classroom("contained", listener.port)
    room.in_container = True
    hand_in_honest(room)
    for name in attacks() if amount(1) >= 100 else SENT:
        room.hand_in_attack(name)
    # Other copies of this course that lie open on this machine are no part of such a container.
    source = attack_file("look_for_answers").read_text(encoding="utf-8")
    room.hand_in("look_for_answers", WRONG + room.fill(source.replace("/*/*/solutions", "/none")))
    seen = len(listener.callers)
    room.grade(tmp_path_factory.mktemp("out"), "--isolation", "uid")
    room.left = [*files_named_after_token(), *listener.callers[seen:]]
    return room


@reachable
def test_attacks_earn_and_reach_nothing(attacked):
    """The files that a user of its own is there against; each row says the level."""
    wrong = attacked.rows["ab_wrong"]
    sent = attacked.rows.keys() - set(HONEST)
    assert len(sent) >= len(SENT)
    assert all(attacked.rows[name].keys() == wrong.keys() for name in sent)
    rows = [(place, row) for name in sent for place, row in attacked.rows[name].items()]
    assert [row for place, row in rows if row["points"] > wrong[place]["points"]] == []
    rows = [(place, row) for place, row in rows if row["student"] not in MAY_WRITE]
    said = [row["message"] for _, row in rows if SYSTEM not in row["message"]]
    assert [message for message in said if "ACHIEVED" in message or SECRET in message] == []
    assert {row["isolation"] for _, row in rows} == {"uid"}
    assert attacked.left == []


@reachable
def test_honest_learners_beside_them_have_their_points(attacked):
    for student in ("aa_right", "mm_right", "zz_right"):
        assert {row["status"] for row in attacked.rows[student].values()} == {"passed"}
    assert attacked.rows["mn_stub"][CHAPTER, "softmax"]["status"] == "not_attempted"


@reachable
def test_what_everybody_can_read_is_not_graded_there(classroom, tmp_path):
    """One sentence, which names the open folders and how to close them; nothing is written."""
    room = classroom("opened")
    room.hand_in("ada", "x = 1\n")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        opened = Path(folder, "course")
        shutil.copytree(room.course, opened)
        opened.chmod(0o755)
        (opened / "solutions").chmod(0o700)
        command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(room.submitted)]
        command += ["--out", str(tmp_path / "out"), "--isolation", "uid"]
        done = subprocess.run(
            contained(command, tmp_path),
            cwd=opened,
            env=environment(),
            capture_output=True,
            text=True,
        )
    said = done.stderr.replace("\n", "")
    assert done.returncode == 2 and f"chmod -R go= {opened}/graders {opened}/course_conf" in said
    assert "solutions" not in said and not (tmp_path / "out").exists()


@reachable
@pytest.mark.parametrize("landlock, level", [(True, "landlock"), (False, "uid")])
def test_doctor_says_what_a_container_gives(tmp_path, landlock, level):
    command = [sys.executable, "-m", "tensorgrade.cli", "doctor", "--json"]
    done = subprocess.run(
        contained(command, tmp_path, landlock), env=environment(), capture_output=True, text=True
    )
    report = json.loads(done.stdout)
    assert report["level"] == level and report["layers"]["uid"]["works"]
    assert report["layers"]["landlock"]["works"] is landlock and report["mend"]
