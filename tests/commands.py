"""This repository's commands, run in forks of one process that has imported what they all need.

A fresh interpreter spends seconds on importing torch before a command says its first word.
"""

import csv
import gc
import multiprocessing
import os
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).parents[1]
WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(
    ["torch", "safetensors.torch", "rich.prompt", "nbgrader.apps.nbgraderapp"]
)
# These two import for a second at the end of a run, for nothing; learners do not have them.
PLUGINS = {"PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:anyio"}


def run_pytest(*arguments: object, **options) -> subprocess.CompletedProcess:
    """Return pytest's output, started as by a learner."""
    return run("pytest", "-p", "no:cacheprovider", *arguments, **options)


def run(
    module: str, *arguments: object, cwd: Path = ROOT, timeout: float = 300, **environment: str
) -> subprocess.CompletedProcess:
    """What `python -m MODULE ARGUMENTS` writes, and its exit status."""
    command = [module, *map(str, arguments)]
    with tempfile.TemporaryDirectory() as folder:
        written = [Path(folder) / name for name in ("stdout", "stderr")]
        process = WARM.Process(
            target=run_here, args=(command, cwd, os.environ | PLUGINS | environment, written)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(command, timeout)
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in written]
        return subprocess.CompletedProcess(command, process.exitcode, *texts)


class Begun:
    """A command under way, as `subprocess.Popen` has one: a session of its own, that heeds Ctrl-C.

    written: where it writes to; if nowhere is given, `communicate` returns it.
    """

    def __init__(
        self, module: str, *arguments: object, cwd: Path = ROOT, written=None, **more: str
    ):
        self.command = [module, *map(str, arguments)]
        self.folder = tempfile.TemporaryDirectory()
        self.written = Path(written or f"{self.folder.name}/written")
        environment = os.environ | PLUGINS | more
        told = (self.command, cwd, environment, [self.written, self.written])
        self.process = WARM.Process(target=begin_here, args=told)
        self.process.start()
        self.pid = self.process.pid

    @property
    def returncode(self) -> int | None:
        """Its exit status; None as long as it runs."""
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> None:
        """Until it ends. Raises TimeoutExpired."""
        self.process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.command, timeout)

    def communicate(self, timeout: float | None = None) -> tuple[str, None]:
        """All that it wrote, once it has ended; it is ended where it takes longer."""
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return self.written.read_text(encoding="utf-8", errors="replace"), None

    def terminate(self) -> None:
        self.process.terminate()

    def kill(self) -> None:
        self.process.kill()


def begin_here(*told: object) -> None:
    """Be a command that a terminal started: a group of its own, and no signal ignored."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    run_here(*told)


def run_here(command: list[str], cwd: Path, environment: dict, written: list[Path]) -> None:
    """Be the command: its folder, its environment, its output; what a new interpreter would set."""
    for number, path in enumerate(written, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    gc.freeze()  # else every collection goes through all of torch
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(command)
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    finally:
        threading._shutdown()  # ends pools of processes, before anybody waits for their processes


def points_in_nbgrader(course: Path, chapter: str) -> dict[str, float]:
    """What nbgrader gives for a solved chapter, `ada`'s, and for one not begun, `bo`'s.

    Without a sandbox: both are ours. Changes the course's settings, and leaves folders there.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    config = course / "course_config.py"
    text = config.read_text(encoding="utf-8")
    config.write_text(f'{text}    c.HiddenGraders.isolation = "none"\n', encoding="utf-8")

    def nbgrader(*arguments: str) -> None:
        done = run("nbgrader", *arguments, cwd=course, PATH=path)
        assert done.returncode == 0, done.stdout + done.stderr

    nbgrader("generate_assignment", chapter, "--force")
    for student, notebook in (("ada", "source"), ("bo", "release")):
        folder = course / "submitted" / student / chapter
        folder.mkdir(parents=True)
        shutil.copy(course / notebook / chapter / f"{chapter}.ipynb", folder)
    nbgrader("autograde", chapter)
    nbgrader("export")
    with (course / "grades.csv").open(encoding="utf-8", newline="") as rows:
        return {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(rows)}
