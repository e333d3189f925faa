"""Runs of `tensorgrade grade` that are begun, looked at while they work, and ended."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from tensorgrade.instructor.ledger import read_lines

from ..commands import ROOT


def begin(submitted: Path, out: Path, *options: str) -> subprocess.Popen:
    """A run in a process group of its own that heeds Ctrl-C, as a terminal would start it.

    A shell that starts the tests in the background has them, and all that they start, ignore it.
    """
    command = [sys.executable, "-m", "tensorgrade.cli", "grade", str(submitted)]
    return subprocess.Popen(
        [*command, "--out", str(out), "--isolation", "none", *options],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def end_of(process: subprocess.Popen) -> str:
    """Wait for a run; returns what it said."""
    said, _ = process.communicate(timeout=400)
    assert process.returncode == 0, said
    return said


def wait_for(out: Path, handins: int, process: subprocess.Popen) -> None:
    """Until so many hand-ins are in the ledger. The run must still be at work then."""
    while len(read_lines(out / "graded.jsonl")) < handins:
        assert process.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.01)
