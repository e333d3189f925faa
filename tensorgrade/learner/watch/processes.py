"""Start the process that runs learner code during `tensorgrade watch`.

On Linux, a fork server forks a fresh child for each file. On other systems, one process is reused
until it hangs.
"""

import os
import queue
import subprocess
import threading
import time
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import Any

from ...course import Limits
from ...runner.wire import receive, send
from ...sandbox.processes import (
    ENVIRONMENT,
    LONGEST_START,
    Budget,
    Ended,
    ForkServer,
    NotStarted,
    TimedOut,
    engine_command,
)

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
NO_BREAKPOINTS = {"PYTHONBREAKPOINT": "0"}  # the process has no terminal of its own
QUIET_TORCH = {k: v for k, v in ENVIRONMENT.items() if k not in ("PATH", "LANG")} | NO_BREAKPOINTS


def process_for(limits: Limits) -> Any:
    """Return a fork server without a sandbox, or what can be used in its place."""
    if CAN_FORK:
        return ForkServer(limits, locked=False, environment=NO_BREAKPOINTS)
    return ReusedProcess()


class ReusedProcess:
    """One process for learner code, used as a fork server and replaced if it hangs.

    It needs neither fork nor signals, nor sockets that only some systems have.
    """

    isolation = "none"

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process. It imports torch while this process continues."""
        command, environment = engine_command("runner.serve"), os.environ | QUIET_TORCH
        self.process = subprocess.Popen(
            command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environment
        )
        self.replies: queue.Queue[bytes | None] = queue.Queue()
        self.ready, self.waiting = False, False
        threading.Thread(target=self.read, args=(self.process, self.replies), daemon=True).start()

    @staticmethod
    def read(process: subprocess.Popen[bytes], replies: queue.Queue) -> None:
        """Queue its messages from a thread, as some systems cannot poll pipes; the last is None."""
        assert process.stdout is not None
        while (message := receive(process.stdout)) is not None:
            replies.put(message)
        replies.put(None)

    def fork(self, budget: Budget | None = None) -> "Turn":
        """Return a turn with the process, once it is ready. Raises NotStarted."""
        if self.waiting or self.process.poll() is not None:
            self.close()
            self.start()
        with suppress(queue.Empty):
            self.ready = self.ready or self.replies.get(timeout=LONGEST_START) is not None
        if not self.ready:
            raise NotStarted("the process that runs your code did not start")
        return Turn(self, budget or Budget())

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
            self.reused.waiting = True
            send(self.reused.process.stdin, message)

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """Return the next message. Raises TimedOut, or Ended, also if the message is too large."""
        with self.budget.within(seconds) as deadline:
            try:
                reply = self.reused.replies.get(timeout=deadline - time.monotonic())
            except queue.Empty:
                raise TimedOut from None
            if reply is None or len(reply) > most_bytes:
                raise Ended
        self.reused.waiting = False
        return reply

    def close(self) -> None:
        """Replace the process if it still owes a reply; otherwise leave it running."""
        if self.reused.waiting:
            self.reused.close()
            self.reused.start()
