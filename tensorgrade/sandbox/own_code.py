"""Processes for a learner's own code on public cases. They have no sandbox, and can be ended.

Linux forks: this process in `OwnForks`, or one that has no other threads (processes.ForkServer).
On other systems, one process is reused until it hangs.
"""

import os
import socket
import subprocess
import time
from collections.abc import Callable
from subprocess import DEVNULL, PIPE
from threading import Timer
from typing import Any

from ..course import Limits
from ..runner.wire import receive, send
from .lockdown import NONE, own_bytes
from .processes import (
    ENVIRONMENT,
    LONGEST_START,
    Budget,
    Child,
    Ended,
    ForkServer,
    NotStarted,
    TimedOut,
    bounds,
    engine_command,
)
from .server import end_group, serve_in_child

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
QUIET_TORCH = {k: v for k, v in ENVIRONMENT.items() if k not in ("PATH", "LANG")}


def fork_server(limits: Limits) -> Any:
    """Return a server for a process with threads. Raises NotStarted."""
    return ForkServer(limits, locked=False) if CAN_FORK else ReusedProcess()


def own_forks(limits: Limits, begin: Callable[[], object] = lambda: None) -> Any:
    """Return a server that forks this process, which saves a second import of torch.

    begin: called first in each child.
    """
    return OwnForks(limits, begin) if CAN_FORK else ReusedProcess()


class OwnForks:
    """This process as a fork server."""

    isolation = NONE

    def __init__(self, limits: Limits, begin: Callable[[], object]):
        self.bounds, self.begin = bounds(limits, "cpu"), begin

    def fork(self, budget: Budget | None = None) -> "OwnChild":
        """Return a new child."""
        ours, theirs = socket.socketpair()
        limits = self.bounds | {"RLIMIT_AS": self.bounds["RLIMIT_AS"] + own_bytes()}
        pid = os.fork()
        if pid == 0:
            try:
                self.begin()
                serve_in_child("runner.serve", theirs.fileno(), (NONE, limits, [], b""))
            finally:  # an error must not go on in the caller's code
                os._exit(1)
        theirs.close()
        return OwnChild(ours, pid, os.pidfd_open(pid), budget or Budget())

    def close(self) -> None:
        """Do nothing: whoever has a child ends it."""


class OwnChild(Child):
    """A child of this process."""

    def close(self) -> None:
        """End the process and those that it has started."""
        if self.handle >= 0:
            end_group(self.pid)
            super().close()
            os.waitpid(self.pid, 0)


class ReusedProcess:
    """One process for learner code, used as a fork server.

    A new one replaces it if it ends. It needs neither fork nor signals, nor sockets that only some
    systems have.
    """

    isolation = NONE

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process. It imports torch while this process continues."""
        command, environment = engine_command("runner.serve"), os.environ | QUIET_TORCH
        self.process = subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
        )
        self.owed = True  # a message: at first, that it is ready

    def fork(self, budget: Budget | None = None) -> "Turn":
        """Return a turn with the process, once it is ready. Raises NotStarted."""
        if self.process.poll() is not None:
            self.start()
        if self.owed and self.next_message(LONGEST_START) is None:
            raise NotStarted("the process that runs your code did not start")
        return Turn(self, budget or Budget())

    def next_message(self, seconds: float) -> bytes | None:
        """Return the next message; None if the process ends, or is ended after these seconds.

        Some systems cannot wait for a pipe for a limited time, so a thread ends the process.
        """
        assert self.process.stdout is not None
        clock = Timer(seconds, self.process.kill)
        clock.start()
        try:
            message = receive(self.process.stdout)
        finally:
            clock.cancel()
        if message is None:
            self.close()  # so that the next turn starts another one
        self.owed = False
        return message

    def close(self) -> None:
        """Kill the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()


class Turn:
    """One attempt's turn with the reused process; it is used as a child of a fork server."""

    def __init__(self, reused: ReusedProcess, budget: Budget):
        self.reused, self.budget = reused, budget

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        assert self.reused.process.stdin is not None
        with self.budget.within(seconds):
            self.reused.owed = True
            send(self.reused.process.stdin, message)

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """Return the next message. Raises TimedOut, or Ended, also if the message is too large."""
        with self.budget.within(seconds) as deadline:
            reply = self.reused.next_message(deadline - time.monotonic())
            if reply is None and time.monotonic() >= deadline:
                raise TimedOut
            if reply is None or len(reply) > most_bytes:
                raise Ended
        return reply

    def close(self) -> None:
        """End the process if it still owes a reply; otherwise leave it running."""
        if self.reused.owed:
            self.reused.close()
