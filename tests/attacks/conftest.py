"""A class with honest learners and attackers in it, graded once by `tensorgrade grade`."""

import ctypes
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ..container import contained
from ..support import require

collect_ignore_glob = ["files/*"]

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CHAPTER, OTHER_CHAPTER = "ch1_simplified_attention", "ch3_causal_attention"
TOKEN = f"zq7attack{os.getpid()}"  # several runs of these tests are no business of each other
SECRET = "SECRET-of-the-grader"
BECOME_SUBREAPER = 36
GRACE = 10  # seconds; no attack here finishes on its own so soon
# Every attacker's file begins with wrong answers, so that an attack that earns shows: two, because
# to explain one takes time.
TWO_WRONG = """
import torch


def attention_scores(query, inputs):
    return torch.zeros(len(inputs), dtype=inputs.dtype)


def softmax(x, dim=-1):
    return torch.zeros_like(x)
"""
WRONG = f"""{TWO_WRONG}

def softmax_naive(x):
    return torch.zeros_like(x)


def context_vector(query, inputs):
    return torch.zeros_like(query)


def simplified_self_attention(inputs):
    return torch.zeros_like(inputs), torch.zeros(len(inputs), len(inputs), dtype=inputs.dtype)
"""


def attacks() -> list[str]:
    """Return the names of all attacks: files, or folders for attacks with companion files."""
    return sorted(p.stem for p in (HERE / "files").iterdir() if not p.name.startswith("_"))


def attack_file(name: str) -> Path:
    """Return the file that is the submission."""
    single = HERE / "files" / f"{name}.py"
    return single if single.exists() else HERE / "files" / name / "attack.py"


@dataclass
class Classroom:
    """A course in a temporary folder, with the submissions for it."""

    course: Path
    submitted: Path
    port: int = 0
    in_container: bool = False
    rows: dict = field(default_factory=dict)
    lines: dict = field(default_factory=dict)
    output: str = ""
    out: Path = Path()
    left: list = field(default_factory=list)

    def hand_in(self, student: str, source: str, chapter: str = CHAPTER) -> Path:
        """Write a submission; returns its folder."""
        folder = self.submitted / student / chapter
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{chapter}.py").write_text(source, encoding="utf-8")
        return folder

    def hand_in_attack(self, name: str) -> None:
        """Write an attacker's submission, and the files that go beside it."""
        source = attack_file(name).read_text(encoding="utf-8")
        folder = self.hand_in(name, TWO_WRONG + self.fill(source))
        for extra in (HERE / "files" / name).glob("*.txt"):
            text = self.fill(extra.read_text(encoding="utf-8"))
            (folder / extra.name.removesuffix(".txt")).write_text(text, encoding="utf-8")

    def fill(self, text: str) -> str:
        """An attack's text with the places of this classroom put in."""
        places = {
            "COURSE_FOLDER": str(self.course),
            "SUBMITTED_FOLDER": str(self.submitted),
            "LISTENER_PORT": str(self.port),
            "TOKEN": TOKEN,
        }
        for word, place in places.items():
            text = text.replace(word, place)
        return text

    def grade(self, out: Path, *options: str, timeout: float = 1500) -> "Classroom":
        """Run `tensorgrade grade`, and keep its rows by student and exercise."""
        if "--isolation" not in options:
            require("the sandbox")
        command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(self.submitted)]
        command += ["--out", str(out), "--jobs", "2", *options]
        done = subprocess.run(
            contained(command) if self.in_container else command,
            cwd=self.course,
            text=True,
            capture_output=True,
            timeout=timeout,
            errors="replace",
            env=environment(),
        )
        self.output, self.out = done.stdout + done.stderr, out
        assert done.returncode == 0, self.output[-3000:]
        for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.rows.setdefault(row["student"], {})[row["chapter"], row["exercise"]] = row
            self.lines.setdefault(row["student"], []).append(line)
        return self


def environment() -> dict:
    """The grader's environment: a secret in it, and the engine of this checkout."""
    return os.environ | {"A_PASSWORD": SECRET, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def make_course(folder: Path) -> Path:
    """A copy of the course with short limits."""
    for name in ("graders", "exercises", "solutions"):
        skipped = shutil.ignore_patterns("__pycache__", "*.ipynb")
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    config = re.sub(r"load_seconds=[\d.]+", "load_seconds=4", config)
    config = re.sub(r"case_seconds=[\d.]+", "case_seconds=1", config)
    (folder / "course_config.py").write_text(config, encoding="utf-8")
    (folder / "gradebook.db").write_bytes(b"")
    return folder


def hand_in_honest(room: Classroom) -> None:
    """Learners at the beginning, in the middle and at the end of the alphabet."""
    for student in ("aa_right", "mm_right", "zz_right"):
        for chapter in (CHAPTER, OTHER_CHAPTER):
            text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
            room.hand_in(student, text, chapter)
    room.hand_in("ab_wrong", WRONG)
    room.hand_in("mn_stub", (ROOT / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8"))
    for path in room.submitted.rglob("*.py"):  # rows contain the submission time
        os.utime(path, (HANDED_IN, HANDED_IN))


HANDED_IN = 1_700_000_000  # seconds since 1970, the same in every classroom
HONEST = ("aa_right", "mm_right", "zz_right", "ab_wrong", "mn_stub")


@pytest.fixture(scope="session")
def classroom(tmp_path_factory):
    """Makes classrooms, each a course and an empty folder of submissions."""

    def make(name: str, port: int = 0) -> Classroom:
        folder = tmp_path_factory.mktemp(name)
        (folder / "course").mkdir()
        (folder / "submitted").mkdir()
        return Classroom(make_course(folder / "course"), folder / "submitted", port)

    return make


@pytest.fixture(scope="session")
def undisturbed(classroom, tmp_path_factory):
    """The honest learners, graded alone."""
    room = classroom("undisturbed")
    hand_in_honest(room)
    return room.grade(tmp_path_factory.mktemp("out"), "--jobs", "1")


@dataclass
class Listener:
    """Listens on a TCP port and an abstract socket, and remembers whether anybody came."""

    port: int = 0
    callers: list = field(default_factory=list)

    def listen(self) -> None:
        inet, abstract = socket.socket(), socket.socket(socket.AF_UNIX)
        inet.bind(("127.0.0.1", 0))
        abstract.bind("\0" + TOKEN)
        self.port = inet.getsockname()[1]
        for line in (inet, abstract):
            line.listen()
            threading.Thread(target=self.accept, args=(line,), daemon=True).start()

    def accept(self, line: socket.socket) -> None:
        while True:
            caller, address = line.accept()
            self.callers.append(str(address))
            caller.close()


@pytest.fixture(scope="session")
def listener():
    """A listener that no learner's file may reach."""
    found = Listener()
    found.listen()
    return found


@pytest.fixture(scope="session")
def attacked(classroom, listener, tmp_path_factory):
    """Grade honest learners and all attackers in one class, and keep everything left behind."""
    room = classroom("attacked", listener.port)
    hand_in_honest(room)
    for name in attacks():
        room.hand_in_attack(name)
    before = digest_of_tree(room.course.parent), shared_segments()
    adopt_orphans()
    known = own_children()
    bystander = subprocess.Popen(["sleep", "1000"])
    room.grade(tmp_path_factory.mktemp("out"))
    room.left = left_behind(known | {bystander.pid})
    room.left += [] if bystander.poll() is None else ["the bystander was killed"]
    room.left += files_named_after_token()
    if (digest_of_tree(room.course.parent), shared_segments()) != before:
        room.left.append("a file of the course or of a submission, or shared memory, changed")
    bystander.kill()
    bystander.wait()
    return room


def digest_of_tree(folder: Path) -> dict[str, str]:
    """Return every file below a folder with its content, without the grader's own bytecode."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def adopt_orphans() -> None:
    """Become the parent of all processes below whose own parent ends."""
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)


def own_children() -> set[int]:
    """Processes whose parent is this one and that still run."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            found.add(int(folder.name))
    return found


def left_behind(known: set[int]) -> list[str]:
    """Processes that the run left. Its own helpers see its end a moment after it."""
    deadline = time.monotonic() + GRACE
    while (left := own_children() - known) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"process {pid}: {command_of(pid)}" for pid in left]


def command_of(pid: int) -> str:
    """The command line of a process; its number says little once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return "has ended since"


def shared_segments() -> str:
    """The System V shared memory that the system has."""
    try:
        return Path("/proc/sysvipc/shm").read_text()
    except OSError:
        return ""


def files_named_after_token() -> list[str]:
    """Files that an attack made anywhere on this machine."""
    places = ("/", "/tmp", "/dev/shm", "/var/tmp", "/w", str(Path.home()))
    places = [place for place in places if os.path.isdir(place)]
    return [f"{place}/{name}" for place in places for name in os.listdir(place) if TOKEN in name]
