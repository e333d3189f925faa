"""Faults of a machine, for commands that start with a folder on Python's path."""

import os
from pathlib import Path

from ..support import ROOT

# It ends the process that runs it, as a machine may do that is short of memory.
ENDS = "import os\nos._exit(1)\n"
ENDS_PROCESSES = """
import os

from tensorgrade.instructor.grader import Grader
from tensorgrade.sandbox.processes import ForkServer

canary, fork, calls = Grader.canary, ForkServer.fork, []


def fork_and_kill(self, *told):
    child = fork(self, *told)
    os.kill(child.pid, 9)
    return child


def canary_in_trouble(self):
    calls.append("now")
    ForkServer.fork = fork if len(calls) <= {passing} else fork_and_kill
    try:
        return canary(self)
    finally:
        ForkServer.fork = fork


Grader.canary = canary_in_trouble
"""


def end_processes_of_canaries(folder: Path, passing: int) -> dict[str, str]:
    """Let this machine end the processes of canaries, except so many of the first ones.

    Return the environment variables of a command on such a machine.
    """
    folder.mkdir(exist_ok=True)
    text = ENDS_PROCESSES.replace("{passing}", str(passing))
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
