"""Does the sandbox hold on this machine? A locked-in child tries, which says more than versions.

`tensorgrade doctor` asks, and each process that grades, before its first submission.
"""

import errno
import json
import os
import platform
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from ..course import CourseError, Limits
from ..runner.wire import receive, send
from .lockdown import NONE, call
from .processes import Ended, ForkServer, TimedOut

SECONDS, MOST_BYTES = 30, 1 << 16
# Linux refuses, or has no such call; any other error says nothing about the sandbox.
CLOSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
SEIZE = 0x4206  # ptrace without stopping the other process (<linux/ptrace.h>)
# What a child tries, by a clause for `learner code can …`: with a planted file,
WITH_FILE: dict[str, Callable[[str], object]] = {
    "write to files": lambda file: os.open(file, os.O_RDWR),
    "make files": lambda file: os.open(f"{file}.made", os.O_RDWR | os.O_CREAT),
    "cut files off": lambda file: os.truncate(file, 0),
    "change the mode of files": lambda file: os.chmod(file, 0o666),
    "change the owner of files": lambda file: os.chown(file, os.getuid(), os.getgid()),
    "change the times of files": os.utime,
    "change the attributes of files": lambda file: os.setxattr(file, "user.tried", b"x"),
    "link files": lambda file: os.link(file, f"{file}.linked"),
    "start programs": lambda _: os.posix_spawn("/bin/true", ["true"], {}),
    "use the network": lambda _: socket.socket(),
}
# and with the number of another process.
WITH_PROCESS: dict[str, Callable[[int], object]] = {
    "signal": lambda pid: os.kill(pid, 0),
    "trace": lambda pid: call("ptrace", SEIZE, pid, None, None),
    "read the memory of": lambda pid: call("process_vm_readv", pid, None, 0, None, 0, 0),
    "read the environment of": lambda pid: os.open(f"/proc/{pid}/environ", os.O_RDONLY),
}


def is_locked(wanted: str, isolation: str, device: str) -> bool:
    """Return True if learner code runs in the sandbox, False without one.

    wanted: `sandbox` or `none`, as the course says. isolation: `none` for no sandbox in this run,
    or `auto` for what the course says. Raises CourseError, also for a GPU, whose driver needs
    threads and files that the sandbox refuses.
    """
    if isolation not in ("auto", NONE):
        raise CourseError(f"--isolation must be auto or none, not {isolation}")
    locked = isolation == "auto" and wanted != NONE
    if locked and device != "cpu":
        raise CourseError(
            "a GPU cannot be used in the sandbox. Grade with --device cpu, or with --isolation "
            "none if you trust the files; every row says so then"
        )
    return locked


def must_hold(server: ForkServer, private: Mapping[str, Path]) -> None:
    """Check that learner code can do nothing that it must not; otherwise end the server.

    private: as in `holes`. Raises CourseError that says what to do. `none` promises nothing.
    """
    if server.isolation != NONE and (found := holes(server, private)):
        server.close()
        raise CourseError(in_sentences(found))


def holes(server: ForkServer, private: Mapping[str, Path]) -> list[str]:
    """Return what a child can do although it must not, in clauses; [] if the sandbox holds.

    private: files that no learner may read, with a name for each; of a folder, one file is tried.
    If it is missing, a planted one is tried. An attempt that could not be made proves nothing, so
    it is returned too.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(server.fork()) as sibling,
        closing(server.fork(program="sandbox.holes")) as child,
    ):
        os.chmod(folder, 0o777)  # only the sandbox keeps other users from making files in it
        file = Path(folder, "file")
        file.touch(0o600)
        places = {what: chain([path], path.rglob("*"), [file]) for what, path in private.items()}
        read = {what: str(next(filter(Path.is_file, paths))) for what, paths in places.items()}
        pids = {"forks it": server.process.pid, "runs another submission": sibling.pid}
        try:
            child.send(json.dumps([read, str(file), pids]).encode(), SECONDS)
            found: list[str] = json.loads(child.receive(SECONDS, MOST_BYTES))
        except (TimedOut, Ended) as error:
            found = [f"do everything (the process that tries ends: {error!r})"]
    return found


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Try everything that a message asks for once, and send what was not refused, in clauses."""
    read, file, pids = json.loads(receive(reader) or b"")
    tried: dict[str, Callable[[], object]] = {
        f"read {what}": partial(os.open, path, os.O_RDONLY) for what, path in read.items()
    }
    tried |= {what: partial(attempt, file) for what, attempt in WITH_FILE.items()}
    for does, pid in pids.items():
        process = f"the process that {does}"
        tried |= {f"{what} {process}": partial(a, pid) for what, a in WITH_PROCESS.items()}
    found = []
    for what, attempt in tried.items():
        try:
            attempt()
            found.append(what)
        except Exception as error:
            if getattr(error, "errno", None) not in CLOSED:
                found.append(f"perhaps {what} ({error!r}), which could not be tried")
    send(writer, json.dumps(found).encode())


def in_sentences(found: list[str]) -> str:
    """Return what a trial has found, and what to do about it."""
    if not found:
        return "A locked-in process tried everything that it must not do. Nothing of it worked."
    return (
        f"in the sandbox of this machine learner code can {', '.join(found)}. Use Linux 5.13 or "
        "later with landlock in its lsm= boot option, or grade as root in a container whose "
        "answers, submissions and results only root can read (chmod -R go= graders solutions "
        "source course_config.py SUBMITTED OUT). `--isolation none` grades without a sandbox, for "
        "files that you trust, and every row says so."
    )


def examine(private: Mapping[str, Path]) -> dict:
    """Return doctor's report, for JSON. Grading can start if there are no holes in it."""
    try:
        with closing(ForkServer(Limits())) as server:
            kind, found = server.isolation, holes(server, private)
    except CourseError as error:
        kind, found = NONE, [f"do everything ({error})"]
    message = in_sentences(found)
    return {"system": platform.platform(), "isolation": kind, "holes": found, "message": message}
