"""The verdicts on a fifth of the golden corpus are the stored ones. `make golden` takes all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 1800  # seconds, on a busy machine
EVERY = "5"  # all submissions take about seven minutes on two cores


@pytest.mark.slow
@pytest.mark.timeout(LONGEST)
def test_verdicts_are_the_stored_ones():
    """Run the command in a process of its own, with one worker if other tests use the other cores.

    If a change is meant, `python -m tests.golden --write` stores it; the commit says why.
    """
    jobs = ["--jobs", "1"] if "PYTEST_XDIST_WORKER" in os.environ else []
    command = [sys.executable, "-m", "tests.golden", "--every", EVERY, *jobs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
