"""A user of its own for every child: what keeps it from others where there are no namespaces.

Only root can give it. What only root may read is then out of a child's reach, and so are all other
processes. A number serves one child at a time; what still runs under it, or lies in the folders
that everybody may write to, goes with the child.
"""

import itertools
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from .step_down import become

# Numbers that no system gives out: next come those of systemd's services.
USERS = range(61001, 61184)
TRIES = 100
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


@dataclass(frozen=True)
class OwnUser:
    """A user's number, and the claim that keeps other graders of this machine from taking it."""

    number: int
    claim: socket.socket

    def end(self) -> None:
        """End what it left behind, and give the number back; not where something still runs."""
        for _ in range(TRIES):  # what runs may end what comes to end it
            if not any(processes_of(self.number)) and not any(files_of(self.number)):
                break
            clear(self.number)
        if not any(processes_of(self.number)):
            self.claim.close()


class Users:
    """Gives out numbers in turn, so that one is not soon used again."""

    def __init__(self) -> None:
        start = os.getpid() % len(USERS)
        self.turn = itertools.cycle([*USERS[start:], *USERS[:start]])

    def take(self) -> OwnUser:
        """A user under whom nothing runs. Raises OSError where there is none."""
        for number in itertools.islice(self.turn, len(USERS)):
            claim = claimed(number)
            if claim is None:
                continue
            if not any(processes_of(number)):
                return OwnUser(number, claim)
            claim.close()
        raise OSError("no user is free for one more child")


def claimed(number: int) -> socket.socket | None:
    """A name that one process at a time can have, and that is free when it ends; None if taken."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0tensorgrade-user-{number}")
    except OSError:
        claim.close()
        return None
    return claim


def processes_of(*numbers: int) -> Iterator[int]:
    """Processes that run as one of these users.

    Who owns their folders in /proc would not tell: of what nobody may look into, root does.
    """
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/status") as file:
            users = next((line for line in file if line.startswith("Uid:")), "")
            if {*map(str, numbers)} & set(users.split()):
                yield int(name)


def files_of(number: int) -> Iterator[str]:
    """What a user has in the folders that everybody may write to."""
    for folder in SHARED_FOLDERS:
        with suppress(OSError):
            for entry in os.scandir(folder):
                if entry.stat(follow_symlinks=False).st_uid == number:
                    yield entry.path


def clear(number: int) -> None:
    """End all that runs as a user and remove its files, as that user: it can do no more than it."""
    pid = os.fork()
    if pid == 0:
        try:
            become(number)
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)  # everything that this user may signal, but not itself
            for path in list(files_of(number)):
                remove(path)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def remove(path: str) -> None:
    """Remove a file, a link or a folder with all in it, as far as that goes."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            os.unlink(path)
