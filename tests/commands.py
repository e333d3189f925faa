"""This repository's commands, run in forks of one process that has imported what they all need.

A fresh interpreter spends seconds on importing torch before a command says its first word.
"""

import csv
import gc
import json
import multiprocessing
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from multiprocessing import reduction
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
    run_in(command, cwd, environment)


def run_in(command: list[str], cwd: Path, environment: dict) -> None:
    """Be the command in a folder and an environment, as in a new interpreter."""
    gc.freeze()  # else every collection goes through all of torch
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(command)
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    finally:
        threading._shutdown()  # ends pools of processes, before anybody waits for their processes


CLIENT = """#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
told = [[{module!r}, *sys.argv[1:]], os.getcwd(), dict(os.environ)]
socket.send_fds(server, [b"."], [0, 1, 2])
server.sendall(json.dumps(told).encode())
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.recv(9) or 1))
"""
SCRIPTS = {"tensorgrade": "tensorgrade.cli", "pytest": "pytest"}


class Shell:
    """Runs bash with scripts for `tensorgrade` and `pytest` that have the warm process forked."""

    def __init__(self, folder: Path):
        self.scripts = folder / "scripts"
        self.scripts.mkdir()
        address = str(folder / "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen()
        for name, module in SCRIPTS.items():
            client = CLIENT.format(python=sys.executable, address=address, module=module)
            (self.scripts / name).write_text(client, encoding="utf-8")
            (self.scripts / name).chmod(0o755)

    def run(self, commands: str, cwd: Path, environment: dict) -> subprocess.CompletedProcess:
        """Run shell commands in a folder; returns what they print, and the last one's status."""
        path = f"{self.scripts}{os.pathsep}{environment['PATH']}"
        told = {"cwd": cwd, "env": environment | {"PATH": path}, "text": True}
        with tempfile.TemporaryFile("w+", encoding="utf-8") as written:
            shell = subprocess.Popen(
                ["bash", "-c", commands], stdout=written, stderr=subprocess.STDOUT, **told
            )
            while shell.poll() is None:
                if select.select([self.listener], [], [], 0.02)[0]:
                    serve(self.listener.accept()[0])
            written.seek(0)
            return subprocess.CompletedProcess(commands, shell.returncode, written.read())


def serve(client: socket.socket) -> None:
    """Fork the warm process for a script's command, and send the script the exit status."""
    with client:
        _, places, _, _ = socket.recv_fds(client, 1, 3)
        command, cwd, environment = json.loads(b"".join(iter(lambda: client.recv(1 << 16), b"")))
        told = ([*map(Passed, places)], command, Path(cwd), environment)
        process = WARM.Process(target=run_on, args=told)
        process.start()
        for place in places:
            os.close(place)
        process.join()
        client.sendall(str(process.exitcode).encode())


class Passed:
    """An open file that a forked process gets as a number."""

    def __init__(self, place: int):
        self.place = place

    def __reduce__(self) -> tuple:
        return received, (reduction.DupFd(self.place),)


def received(passed) -> int:
    """Return the number of a passed file in this process."""
    return passed.detach()


def run_on(places: list[int], command: list[str], cwd: Path, environment: dict) -> None:
    """Be the command that reads and writes at these three places."""
    for number, place in enumerate(places):
        os.dup2(place, number)
    run_in(command, cwd, environment)


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
