"""A separate user for each child, as protection on machines without namespaces.

Only root can assign one. A child then cannot read files that only root may read, and cannot affect
other processes. A number serves one child at a time. When the child ends, its remaining processes
end too, and its files in world-writable folders are removed.
"""

import itertools
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from .drop_root import become

# Numbers that no system assigns; the next ones belong to systemd's services.
USERS = range(61001, 61184)
TRIES = 100
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


@dataclass(frozen=True)
class OwnUser:
    """A user's number, and the claim that reserves it among the graders of this machine."""

    number: int
    claim: socket.socket

    def end(self) -> None:
        """Remove the user's processes and files; release the number unless a process remains."""
        for _ in range(TRIES):  # its processes may kill the process that is ending them
            if not any(processes_of(self.number)) and not any(files_of(self.number)):
                break
            clear(self.number)
        if not any(processes_of(self.number)):
            self.claim.close()


class Users:
    """A supply of user numbers, assigned in turn so that none is soon used again."""

    def __init__(self) -> None:
        start = os.getpid() % len(USERS)
        self.turn = itertools.cycle([*USERS[start:], *USERS[:start]])

    def take(self) -> OwnUser:
        """Return a user without any processes. Raises OSError if there is none."""
        for number in itertools.islice(self.turn, len(USERS)):
            claim = claimed(number)
            if claim is None:
                continue
            if not any(processes_of(number)):
                return OwnUser(number, claim)
            claim.close()
        raise OSError("no user is free for one more child")


def claimed(number: int) -> socket.socket | None:
    """Reserve a number by binding a socket to a name; return the socket, or None if it is taken.

    Only one process can hold the name, and loses it when it ends.
    """
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0tensorgrade-user-{number}")
    except OSError:
        claim.close()
        return None
    return claim


def processes_of(*numbers: int) -> Iterator[int]:
    """Yield the processes that run as one of these users.

    The owner of a folder in /proc proves nothing, because root owns those of protected processes.
    """
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/status") as file:
            users = next((line for line in file if line.startswith("Uid:")), "")
            if {*map(str, numbers)} & set(users.split()):
                yield int(name)


def files_of(number: int) -> Iterator[str]:
    """Yield the paths that a user owns in world-writable folders."""
    for folder in SHARED_FOLDERS:
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.stat(follow_symlinks=False).st_uid == number:
                    yield entry.path


def clear(number: int) -> None:
    """End all processes of a user and remove its files, acting as that user for safety."""
    pid = os.fork()
    if pid == 0:
        try:
            become(number)
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)  # all processes of the user, except this one
            for path in list(files_of(number)):
                remove(path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def remove(path: str) -> None:
    """Remove a file, a link, or a folder with its content, as far as possible."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
