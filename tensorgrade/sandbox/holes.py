"""Does the sandbox hold on this machine? A locked-in child tries, which says more than versions.

`tensorgrade doctor` asks, and each process that grades, before its first submission. `serve` and
`attempts` run in the child.
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
from typing import Any, BinaryIO

from ..course import CourseError, Limits
from ..runner.wire import receive, send
from .lockdown import LIBC, NONE, checked
from .processes import Ended, ForkServer, TimedOut

SECONDS, MOST_BYTES = 30, 1 << 16
# Linux refuses, or has no such call; any other error says nothing about the sandbox.
CLOSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
SEIZE = 0x4206  # ptrace without stopping the other process (<linux/ptrace.h>)
NOTHING = (None, 0, None, 0, 0)  # no places to read from or to


class NotIsolated(CourseError):
    """There is no sandbox for learner code here; the message says why, and what to do."""


def is_locked(wanted: str, isolation: str, device: str) -> bool:
    """Return True if learner code runs in the sandbox, False without one.

    wanted: `sandbox` or `none`, as the course says. isolation: `none` for no sandbox in this run,
    or `auto` for what the course says. Raises CourseError, and NotIsolated for a GPU, whose driver
    needs threads and files that the sandbox refuses.
    """
    if isolation not in ("auto", NONE):
        raise CourseError(f"--isolation must be auto or none, not {isolation}")
    locked = isolation == "auto" and wanted != NONE
    if locked and device != "cpu":
        raise NotIsolated(
            "a GPU cannot be used in the sandbox. Grade with --device cpu, or with --isolation "
            "none if you trust the files; every row says so then"
        )
    return locked


def must_hold(server: ForkServer, private: Mapping[str, Path]) -> None:
    """Check that learner code can do nothing that it must not; otherwise end the server.

    private: as in `holes`. Without a sandbox (`none`) there is nothing to check. Raises
    NotIsolated.
    """
    if server.isolation != NONE and (found := holes(server, private)):
        server.close()
        raise NotIsolated(in_sentences(found))


def holes(server: ForkServer, private: Mapping[str, Path]) -> list[str]:
    """Return what a child can do although it must not, in clauses; [] if the sandbox holds.

    private: files that no learner may read, with a name for each; of a folder, one file is tried.
    If it is missing, a planted one is tried. An attempt that could not be made proves nothing, so
    it is returned too.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as opened:
        Path(opened).chmod(0o777)
        file = Path(folder, "file")
        file.write_bytes(b"planted")
        file.chmod(0o600)
        places = {what: chain([path], path.rglob("*"), [file]) for what, path in private.items()}
        read = {what: str(next(filter(Path.is_file, paths))) for what, paths in places.items()}
        with closing(server.fork()) as sibling:
            pids = {"forks it": server.process.pid, "runs another submission": sibling.pid}
            with closing(server.fork(program="sandbox.holes")) as child:
                try:
                    asked = json.dumps([read, str(file), folder, opened, pids])
                    child.send(asked.encode(), SECONDS)
                    found: list[str] = json.loads(child.receive(SECONDS, MOST_BYTES))
                except (TimedOut, Ended, ValueError) as error:
                    found = [f"do everything (the process that tries ends: {error!r})"]
    return found


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Try everything that a message asks for once, and send what was not refused, in clauses."""
    found = []
    for what, attempt in attempts(*json.loads(receive(reader) or b"")).items():
        try:
            attempt()
            found.append(what)
        except Exception as error:
            if getattr(error, "errno", None) not in CLOSED:
                found.append(f"perhaps {what} ({error!r}), which could not be tried")
    send(writer, json.dumps(found).encode())


def attempts(
    read: dict[str, str], file: str, folder: str, opened: str, pids: dict[str, int]
) -> dict[str, Callable[[], Any]]:
    """Return what is tried, by a clause for `learner code can …`.

    read: paths by what they hold. file: planted in a folder. opened: a folder that every user can
    write to. pids: other processes by what they do.
    """
    found: dict[str, Callable[[], Any]] = {
        **{f"read {what}": partial(open, path, "rb") for what, path in read.items()},
        "write to files": partial(open, file, "r+b"),
        "make files": partial(open, f"{folder}/made", "xb"),
        "make temporary files": partial(open, f"{opened}/made", "xb"),
        "cut files off": partial(os.truncate, file, 0),
        "change the mode of files": partial(os.chmod, file, 0o666),
        "change the owner of files": partial(os.chown, file, os.getuid(), os.getgid()),
        "change the times of files": partial(os.utime, file),
        "change the attributes of files": partial(os.setxattr, file, "user.tried", b"x"),
        "link files": partial(os.link, file, f"{folder}/linked"),
        "start programs": partial(os.posix_spawn, "/bin/true", ["true"], {}),
        "use the network": socket.socket,
    }
    for does, pid in pids.items():
        process = f"the process that {does}"
        found |= {
            f"signal {process}": partial(os.kill, pid, 0),
            f"trace {process}": partial(call, "ptrace", SEIZE, pid, None, None),
            # No byte is read, which needs the same right as reading all of it.
            f"read the memory of {process}": partial(call, "process_vm_readv", pid, *NOTHING),
            f"read the environment of {process}": partial(open, f"/proc/{pid}/environ", "rb"),
        }
    return found


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raises OSError."""
    checked(getattr(LIBC, name)(*arguments))


def in_sentences(found: list[str]) -> str:
    """Return what a trial has found, and what to do about it."""
    if not found:
        return (
            "A locked-in process tried to read the answers and other submissions, to write and "
            "change files, to start programs, to use the network, and to reach other processes. "
            "Nothing of it worked."
        )
    how = "Grade on Linux, where the kernel offers a sandbox."
    if platform.system() == "Linux":
        how = (
            "Use a kernel of 5.13 or later with landlock in its lsm= boot option, or grade as root "
            "in a container whose answers, submissions and results only root can read (chmod -R "
            "go= graders solutions source course_config.py SUBMITTED OUT)."
        )
    return (
        f"in the sandbox of this machine learner code can {', '.join(found)}. {how} `--isolation "
        "none` grades without a sandbox, for files that you trust, and every row says so."
    )


def examine(private: Mapping[str, Path]) -> dict:
    """Return doctor's report, for JSON. private: as in `holes`.

    isolation: what grading would use. holes: what it would not stop; grading starts if it is empty.
    message: the same in sentences.
    """
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    try:
        with ForkServer(Limits()) as server:
            kind, found = server.isolation, holes(server, private)
    except CourseError as error:
        kind, found = NONE, [f"do everything ({error})"]
    message = in_sentences(found)
    return {"system": system, "isolation": kind, "holes": found, "message": message}
