"""What a fork does to be a command. It imports nothing of the engine, as a new interpreter would.

With the engine imported already, pytest warns that it cannot rewrite the asserts of a plugin.
"""

import gc
import os
import runpy
import sys
import threading
from pathlib import Path

MODULES = {"tensorgrade": "tensorgrade.cli", "nbgrader": "nbgrader", "pytest": "pytest"}


def be_command(command: list[str], cwd: Path, environment: dict, written: list[Path]) -> None:
    """Be the command: its folder, its environment, its output; what a new interpreter would set."""
    for number, path in enumerate(written, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    gc.freeze()  # else every collection goes through all of torch
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(command)
    try:
        runpy.run_module(MODULES.get(command[0], command[0]), run_name="__main__", alter_sys=True)
    finally:
        threading._shutdown()  # ends pools of processes, before multiprocessing waits for them
