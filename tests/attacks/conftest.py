"""A class with honest learners and attackers in it, graded once by `tensorgrade grade`."""

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import psutil
import pytest

from ..container import contained
from ..support import ROOT, require

collect_ignore_glob = ["files/*"]

FILES = Path(__file__).parent / "files"
CHAPTER, OTHER_CHAPTER = "ch1_simplified_attention", "ch3_causal_attention"
TOKEN = f"zq7attack{os.getpid()}"  # several runs of these tests are no business of each other
SECRET = "SECRET-of-the-grader"
BECOME_SUBREAPER = 36
SHARED = Path("/proc/sysvipc/shm")  # the System V shared memory that the system has
GRACE = 10  # seconds; no attack here finishes on its own so soon
SUBMITTED_AT = 1_700_000_000  # seconds since 1970, the same in every classroom
RIGHT = ("aa_right", "mm_right", "zz_right")
HONEST = (*RIGHT, "ab_wrong", "mn_stub")
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
    return sorted(path.stem for path in FILES.iterdir() if not path.name.startswith("_"))


def attack_file(name: str) -> Path:
    """Return the file that is the submission."""
    single = FILES / f"{name}.py"
    return single if single.exists() else FILES / name / "attack.py"


class Classroom:
    """A course in a folder, the submissions for it, and what came out when they were graded.

    rows: by student, then by chapter and exercise. lines: those of `results.jsonl`, by student.
    """

    def __init__(self, folder: Path, port: int):
        self.course, self.submitted, self.port = folder / "course", folder / "submitted", port
        self.rows: dict[str, dict] = defaultdict(dict)
        self.lines: dict[str, list[str]] = defaultdict(list)
        self.submitted.mkdir()
        copy_course(self.course)

    def submit(self, student: str, source: str, chapter: str = CHAPTER) -> Path:
        """Write a submission; return its folder."""
        folder = self.submitted / student / chapter
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{chapter}.py").write_text(source, encoding="utf-8")
        return folder

    def submit_attack(self, name: str) -> None:
        """Write an attacker's submission, and its companion files."""
        source = attack_file(name).read_text(encoding="utf-8")
        folder = self.submit(name, TWO_WRONG + self.fill(source))
        for extra in (FILES / name).glob("*.txt"):
            text = self.fill(extra.read_text(encoding="utf-8"))
            (folder / extra.name.removesuffix(".txt")).write_text(text, encoding="utf-8")

    def submit_honest(self) -> None:
        """Write submissions at the beginning, in the middle and at the end of the alphabet."""
        for student in RIGHT:
            for chapter in (CHAPTER, OTHER_CHAPTER):
                text = (ROOT / "solutions" / f"{chapter}.py").read_text(encoding="utf-8")
                self.submit(student, text, chapter)
        self.submit("ab_wrong", WRONG)
        stub = (ROOT / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")
        self.submit("mn_stub", stub)
        for path in self.submitted.rglob("*.py"):  # rows contain the submission time
            os.utime(path, (SUBMITTED_AT, SUBMITTED_AT))

    def fill(self, text: str) -> str:
        """Return an attack's text with the places of this classroom put in."""
        text = text.replace("COURSE_FOLDER", str(self.course))
        text = text.replace("SUBMITTED_FOLDER", str(self.submitted))
        return text.replace("LISTENER_PORT", str(self.port)).replace("TOKEN", TOKEN)

    def grade(self, out: Path, *options: str, in_container: bool = False) -> None:
        """Run `tensorgrade grade`, and keep its rows."""
        if "--isolation" not in options:
            require("the sandbox")
        command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(self.submitted)]
        command += ["--out", str(out), "--jobs", "2", *options]
        done = subprocess.run(
            contained(command) if in_container else command,
            cwd=self.course,
            text=True,
            capture_output=True,
            errors="replace",
            env=environment(),
        )
        self.output, self.out = done.stdout + done.stderr, out
        assert done.returncode == 0, self.output[-3000:]
        for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.rows[row["student"]][row["chapter"], row["exercise"]] = row
            self.lines[row["student"]].append(line)


def environment() -> dict[str, str]:
    """Return the grader's environment: a secret in it, and the engine of this checkout."""
    return os.environ | {"A_PASSWORD": SECRET, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def copy_course(folder: Path) -> None:
    """Copy the course, with short limits."""
    for name in ("graders", "exercises", "solutions"):
        skipped = shutil.ignore_patterns("__pycache__", "*.ipynb")
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    config = re.sub(r"load_seconds=[\d.]+", "load_seconds=4", config)
    config = re.sub(r"case_seconds=[\d.]+", "case_seconds=1", config)
    (folder / "course_config.py").write_text(config, encoding="utf-8")
    (folder / "gradebook.db").write_bytes(b"")


@pytest.fixture(scope="session")
def classroom(tmp_path_factory):
    """Makes classrooms.

    This process becomes the parent of all processes below whose own parent ends.
    """
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    return lambda name, port=0: Classroom(tmp_path_factory.mktemp(name), port)


class Listener:
    """Listens on a TCP port and an abstract socket, and remembers who came."""

    def __init__(self) -> None:
        inet, abstract = socket.socket(), socket.socket(socket.AF_UNIX)
        inet.bind(("127.0.0.1", 0))
        abstract.bind("\0" + TOKEN)
        self.port, self.callers = inet.getsockname()[1], []
        for line in (inet, abstract):
            line.listen()
            threading.Thread(target=self.accept, args=(line,), daemon=True).start()

    def accept(self, line: socket.socket) -> None:
        """Note each caller."""
        while True:
            caller, address = line.accept()
            self.callers.append(str(address))
            caller.close()


@pytest.fixture(scope="session")
def listener():
    """A listener that no learner's file may reach."""
    return Listener()


def state_of(folder: Path) -> dict[str, int | str]:
    """Return what attackers could change: each file but the grader's bytecode, shared memory."""
    files = (path for path in folder.rglob("*") if path.is_file())
    files = (path for path in files if "__pycache__" not in path.parts)
    return {str(path): hash(path.read_bytes()) for path in files} | {"": SHARED.read_text()}


def own_children() -> set[psutil.Process]:
    """Return the processes whose parent is this one and that still run."""
    found = psutil.Process().children()
    return {one for one in found if one.is_running() and one.status() != psutil.STATUS_ZOMBIE}


def left_behind(known: set[psutil.Process]) -> list[str]:
    """Return the processes that a run left. Its own helpers see its end a moment after it."""
    deadline = time.monotonic() + GRACE
    while (left := own_children() - known) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [str(one) for one in left]


def files_named_after_token() -> list[str]:
    """Return the files that an attack made anywhere on this machine."""
    places = ("/", "/tmp", "/dev/shm", "/var/tmp", "/w", str(Path.home()))
    places = [place for place in places if os.path.isdir(place)]
    return [f"{place}/{name}" for place in places for name in os.listdir(place) if TOKEN in name]
