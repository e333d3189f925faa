"""What a locked-in child tries, beside learner code, to find out what the sandbox does not stop."""

import errno
import json
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ..runner.wire import receive, send
from .lockdown import LIBC, checked

# Linux refuses, or has no such call; any other error says nothing about the sandbox.
CLOSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
SEIZE = 0x4206  # ptrace without stopping the other process (<linux/ptrace.h>)
NOTHING = (None, 0, None, 0, 0)  # no places to read from or to


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
