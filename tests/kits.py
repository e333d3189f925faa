"""A learner's kit in a folder, the learner's own answers in it, and commands that go on."""

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect

from .author.small_course import edit
from .support import ROOT, cli

FIRST = ("ch1_simplified_attention", "ch2_self_attention")


def unpacked(folder: Path, course: Path = ROOT) -> Path:
    """Bundle a course's kit, unpack it in a folder, and return the kit's own folder."""
    done = cli("bundle", "--out", folder / "kit.zip", cwd=course)
    assert done.returncode == 0, done.stdout + done.stderr
    with zipfile.ZipFile(folder / "kit.zip") as archive:
        archive.extractall(folder)
    return folder / "kit"


def solved(kit: Path, folder: Path, *chapters: str) -> Path:
    """Return a copy of a kit in which these chapters are solved; `folder` must not exist yet."""
    shutil.copytree(kit, folder)
    for chapter in chapters:
        shutil.copy(ROOT / "solutions" / f"{chapter}.py", folder / "exercises")
    return folder


def write(kit: Path, chapter: str, old: str, new: str) -> None:
    """Change the learner's file for a chapter."""
    edit(kit, f"exercises/{chapter}.py", old, new)


def typed(kit: Path, *words: str, lines: str) -> str:
    """Run a command of a learner who types these lines; return what it prints, in one line."""
    command = [sys.executable, "-m", "tensorgrade.cli", *words]
    done = subprocess.run(
        command, cwd=kit, input=lines, capture_output=True, text=True, timeout=300
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in said, said
    return said


@contextmanager
def on_a_terminal(kit: Path, *words: str, **environment: str) -> Iterator[pexpect.spawn]:
    """Run a command of a learner on a terminal of its own."""
    session = pexpect.spawn(
        sys.executable,
        ["-m", "tensorgrade.cli", *words],
        cwd=kit,
        env=os.environ | environment,
        dimensions=(40, 120),
        encoding="utf-8",
        timeout=120,
    )
    try:
        yield session
    finally:  # `close` alone gives the process a tenth of a second to end
        session.kill(signal.SIGKILL)
        session.wait()
        session.close()


def wait_until(done: Callable[[], object], process: subprocess.Popen) -> None:
    """Wait for something that a command does; fail if the command ends without it."""
    while not done():
        assert process.poll() is None, "it has ended"
        time.sleep(0.1)
