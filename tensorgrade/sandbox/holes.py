"""Does the sandbox hold on this machine? A locked-in child tries, which says more than versions.

`tensorgrade doctor` asks, and each process that grades, before its first submission. `serve` and
what it calls run in the child.
"""

import errno
import json
import os
import platform
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
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

    wanted: `sandbox`, `none`, or a level of an earlier version, as the course says. isolation:
    `none` for no sandbox in this run, or `auto` for what the course says. Raises NotIsolated for a
    GPU, whose driver needs threads and files that the sandbox refuses, and CourseError.
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
        raise NotIsolated(
            f"in the sandbox of this machine learner code can {', '.join(found)}. {remedy()}"
        )


def holes(server: ForkServer, private: Mapping[str, Path]) -> list[str]:
    """Return what a child can do although it must not, in clauses; [] if the sandbox holds.

    private: files that no learner may read, with a name for each. If one is missing, a file is
    planted in its place. An attempt that could not be made proves nothing, so it is returned too.
    """
    with planted(private) as asked, closing(server.fork()) as sibling:
        asked |= {"parent": server.process.pid, "sibling": sibling.pid}
        with closing(server.fork(program="sandbox.holes")) as child:
            try:
                child.send(json.dumps(asked).encode(), SECONDS)
                tried: dict[str, str] = json.loads(child.receive(SECONDS, MOST_BYTES))
            except (TimedOut, Ended, ValueError) as error:
                tried = {"do everything": f"the process that tries ends: {error!r}"}
    return [
        what if how == "done" else f"perhaps {what} ({how}), which could not be tried"
        for what, how in tried.items()
        if how
    ]


@contextmanager
def planted(private: Mapping[str, Path]) -> Iterator[dict]:
    """Yield what a child is asked to try, with files made for it that only this user can read."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as opened:
        Path(opened).chmod(0o777)
        file = Path(folder, "file")
        file.write_bytes(b"planted")
        file.chmod(0o600)
        # A path is a file, or a folder whose first file is tried.
        first = {what: chain([path], path.rglob("*"), [file]) for what, path in private.items()}
        read = {what: str(next(filter(Path.is_file, paths))) for what, paths in first.items()}
        yield {"read": read, "file": str(file), "folder": folder, "temporary": opened}


def serve(reader: BinaryIO, writer: BinaryIO) -> None:
    """Try everything once, and send for each kind "" if it was refused, otherwise what happened.

    The message that asks for it has paths and numbers: `read`, paths by what they hold; `file` and
    `folder`, planted for this; `parent` and `sibling`, processes.
    """
    asked = json.loads(receive(reader) or b"{}")
    tried = {what: outcome(attempt) for what, attempt in attempts(asked).items()}
    send(writer, json.dumps(tried).encode())


def outcome(attempt: Callable[[], Any]) -> str:
    """Return "" if an attempt is refused, "done" if it succeeds, otherwise its error."""
    try:
        attempt()
    except OSError as error:
        return "" if error.errno in CLOSED else f"{type(error).__name__}: {error.strerror}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "done"


def attempts(asked: dict) -> dict[str, Callable[[], Any]]:
    """Return what is tried, by a clause for `learner code can …`."""
    file, folder = asked["file"], asked["folder"]
    found: dict[str, Callable[[], Any]] = {
        f"read {what}": partial(use, path, "rb") for what, path in asked["read"].items()
    }
    found |= {
        "write to files": partial(use, file, "r+b"),
        "make files": partial(use, f"{folder}/made", "xb"),
        "make temporary files": partial(use, f"{asked['temporary']}/made", "xb"),
        "cut files off": lambda: os.truncate(file, 0),
        "change the mode of files": lambda: os.chmod(file, 0o666),
        "change the owner of files": lambda: os.chown(file, os.getuid(), os.getgid()),
        "change the times of files": lambda: os.utime(file),
        "change the attributes of files": lambda: os.setxattr(file, "user.tried", b"x"),
        "link files": lambda: os.link(file, f"{folder}/linked"),
        "start programs": start_a_program,
        "use the network": socket.socket,
    }
    for who, name in (("parent", "forks it"), ("sibling", "runs another submission")):
        pid, process = asked[who], f"the process that {name}"
        found |= {
            f"signal {process}": partial(os.kill, pid, 0),
            f"trace {process}": partial(call, "ptrace", SEIZE, pid, None, None),
            # No byte is read, which needs the same right as reading all of it.
            f"read the memory of {process}": partial(call, "process_vm_readv", pid, *NOTHING),
            f"read the environment of {process}": partial(read_environment, pid),
        }
    return found


def use(path: str, mode: str) -> None:
    """Read a byte of a file, or open it for writing."""
    with open(path, mode) as file:
        if mode == "rb":
            file.read(1)


def start_a_program() -> None:
    """Start one that does nothing, and wait for it."""
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


def read_environment(pid: int) -> None:
    """Read what the kernel shows of another process; without /proc it shows nothing."""
    if Path("/proc/self").exists():
        Path(f"/proc/{pid}/environ").read_bytes()


def call(name: str, *arguments: Any) -> None:
    """Call a function of the C library. Raises OSError."""
    checked(getattr(LIBC, name)(*arguments))


def remedy() -> str:
    """Return what to do on a machine without a sandbox, in sentences."""
    how = "Grade on Linux, where the kernel offers a sandbox."
    if platform.system() == "Linux":
        how = (
            "Use a kernel of 5.13 or later with landlock in its lsm= boot option, or grade as root "
            "in a container whose answers, submissions and results only root can read (chmod -R "
            "go= graders solutions source course_config.py SUBMITTED OUT)."
        )
    without = "`--isolation none` grades without a sandbox, for files that you trust, and every"
    return f"{how} {without} row says so."


def examine(private: Mapping[str, Path]) -> dict:
    """Return doctor's report, for JSON. private: as in `holes`.

    isolation: what grading would use. holes: what it would not stop; grading starts if it is empty.
    """
    report = {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": sys.executable,
    }
    try:
        with ForkServer(Limits()) as server:
            return report | {"isolation": server.isolation, "holes": holes(server, private)}
    except CourseError as error:
        return report | {"isolation": NONE, "holes": [f"do everything ({error})"]}


def as_text(report: dict) -> str:
    """Return doctor's report as text."""
    lines = [f"Isolation on this machine: {report['isolation']} ({report['system']})", ""]
    if report["holes"]:
        lines += ["Learner code can", *(f"  ✗ {hole}" for hole in report["holes"])]
        return "\n".join([*lines, "", f"`tensorgrade grade` refuses here. {remedy()}"])
    return "\n".join([*lines, HOLDS])


HOLDS = (
    "A locked-in process tried to read the answers and other submissions, to write and change "
    "files, to start programs, to use the network, and to reach other processes. Nothing of it "
    "worked."
)
