"""Learners' commands on systems without Linux features, as on Windows and macOS.

A child process imports torch and then loses what those systems lack. Nothing else is pretended:
paths, files and processes stay those of the machine that runs the tests.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tensorgrade.learner.checker import Checker
from tensorgrade.learner.kit import Kit

from ..support import PLUGINS, ROOT

STUB = ROOT / "exercises" / "ch1_simplified_attention.py"
# As on Windows: os.name is `nt`, and pathlib checks it for each Path.
LACKING = """
import importlib.abc, multiprocessing, os, pathlib, signal, socket, subprocess, sys, tempfile
import torch, IPython
system, command = sys.argv[1], sys.argv[2:]
missing = {"windows": {"fcntl", "resource", "termios", "tty", "pwd", "grp"}, "macos": set()}[system]
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
for name in missing:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
gone = [(os, "pidfd_open"), (signal, "pidfd_send_signal"), (os, "setns"), (os, "unshare")]
if system == "windows":
    gone += [(os, "fork"), (os, "killpg"), (os, "setsid"), (os, "geteuid"), (signal, "SIGALRM")]
    gone += [(signal, "setitimer"), (socket, "AF_UNIX"), (socket, "send_fds")]
    for place in (pathlib, getattr(pathlib, "_local", pathlib)):  # there since Python 3.13
        place.WindowsPath = pathlib.PosixPath
    os.name = "nt"
for owner, name in gone:
    if hasattr(owner, name):
        delattr(owner, name)
sys.argv = command
"""
PYTEST = "import pytest; raise SystemExit(pytest.main(sys.argv))"
WATCH = """
import io, time
from rich.console import Console
from tensorgrade.learner import checker
from tensorgrade.learner.kit import Kit
from tensorgrade.sandbox import processes
from tensorgrade.learner.watch import Watch
checker.PATIENCE = 1.0
assert not processes.CAN_FORK
tests, folder = map(pathlib.Path, sys.argv)
session = Watch(Kit(tests.parent, folder), Console(file=io.StringIO(), width=80))
session.look()
path = next(folder.glob("ch1_*.py"))
stub = path.read_text(encoding="utf-8")
def page(line):
    session.console.file = io.StringIO()
    path.write_text(stub.replace("raise NotImplementedError", line, 1), encoding="utf-8")
    assert session.look()
    return " ".join(session.console.file.getvalue().split())
print(page("return inputs @ query"))
deaf = "signal.signal(signal.SIGALRM, signal.SIG_IGN)" if system == "macos" else "0"
print(page(f"import signal, time; {deaf}; time.sleep(600)"))  # nothing interrupts it from within
print(page("print('x' * 9999); return inputs @ inputs.T"))
print(page("import os; os._exit(1)"))
session.close()
"""
CHECK = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for line in ("return torch.ones(n, n).triu(1).bool()", "while True: pass"):
    cells = ["import torch", f"def causal_mask(n):\\n    {line}"]
    cells += ["from tensorgrade.notebook import check\\ncard = check('causal_mask')"]
    for cell in cells:
        shell.run_cell(cell, store_history=True).raise_error()
    print(repr(shell.user_ns["card"]))
"""
HINT = "from tensorgrade.cli import main; sys.argv[:0] = ['tensorgrade']; main()"


def run(system: str, script: str, *arguments: object, cwd: Path = ROOT) -> str:
    """Return a script's output on such a system, in one line; it must finish without a crash."""
    command = [sys.executable, "-c", LACKING + script, system, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.slow
def test_pytest_checks_and_ends_a_loop(tmp_path):
    stub = STUB.read_text(encoding="utf-8")
    endless = stub.replace("raise NotImplementedError", "while True: pass", 1)
    (tmp_path / STUB.name).write_text(endless, encoding="utf-8")
    options = f"-p no:cacheprovider {PLUGINS['PYTEST_ADDOPTS']} --timeout 2 --attempt".split()
    said = run("windows", PYTEST, f"exercises/{STUB.name}", *options, tmp_path)
    assert "did not finish within " in said and "Is there an infinite loop?" in said, said
    assert "to do" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("system", ["windows", "macos"])
def test_watch_starts_checks_and_ends_a_loop(system, tmp_path):
    shutil.copy(STUB, tmp_path)
    said = run(system, WATCH, ROOT / "exercises", tmp_path)
    assert "attention_scores is done" in said and "Scores of all pairs" in said, said
    assert "did not finish" in said and "The process that" in said, said


def test_given_code_is_to_do_however_busy_the_machine_is(tmp_path, monkeypatch):
    monkeypatch.setattr("tensorgrade.learner.checker.PATIENCE", 0.001)
    shutil.copy(STUB, tmp_path)
    with Checker(Kit(ROOT, tmp_path)) as checker:
        results = checker.check(STUB.stem)["bug_simplified_self_attention"]
    findings = [one.finding for one in results if one.finding]
    assert findings and all(one.is_to_fix for one in findings)


@pytest.mark.slow
def test_a_notebooks_check_and_a_hint(tmp_path):
    told = json.loads((ROOT / "exercises" / "course.json").read_text(encoding="utf-8"))
    shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    told["limits"]["case_seconds"] = 1.0
    (tmp_path / "exercises" / "course.json").write_text(json.dumps(told), encoding="utf-8")
    said = run("windows", CHECK, "cells", cwd=tmp_path)
    assert "causal_mask: done" in said and "did not finish" in said, said
    assert "hint 1" in run("windows", HINT, "hint", "softmax")
