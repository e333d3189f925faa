"""Ctrl-C ends a command, also at a moment when Python loses the error that it raises."""

import subprocess
import sys

import pytest

LOSES_IT = """
class Lost:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        list(range(10))

Lost()
"""
SAYS_IT = "os.kill(os.getpid(), signal.SIGINT)"
PROGRAM = """
import os, signal, time
from tensorgrade.cli import shared

signal.signal(signal.SIGINT, signal.default_int_handler)
with shared.interruptible("Go on as before."):
{lines}
    while True:
        time.sleep(0.1)
"""


@pytest.mark.parametrize("lines", [LOSES_IT, SAYS_IT])
def test_it_ends(lines):
    program = PROGRAM.format(lines="\n".join(f"    {line}" for line in lines.split("\n")))
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 130 and ended.stderr.endswith("Interrupted. Go on as before.\n")
