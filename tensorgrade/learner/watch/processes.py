"""Start the processes that run learner code during `tensorgrade watch`.

On Linux, a fork of this process forks a fresh child for each file. On systems without fork, one
process is reused until it hangs.
"""

import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress

from ...course import Limits
from ...isolation.command import ENVIRONMENT, runner_command
from ...isolation.levels import NONE
from ...isolation.warm_process import (
    LONGEST_START,
    Budget,
    Child,
    Ended,
    NotStarted,
    TimedOut,
    WarmProcess,
)
from ...runner.wire import receive, send

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
NO_BREAKPOINTS = {"PYTHONBREAKPOINT": "0"}  # the process has no terminal of its own
QUIET_TORCH = {k: v for k, v in ENVIRONMENT.items() if k not in ("PATH", "LANG")} | NO_BREAKPOINTS


class Forked(WarmProcess):
    """A warm process that is a fork of this one, so torch is already imported."""

    def launch(self) -> None:
        """Fork, without waiting for the child to be ready."""
        self.begin()
        self.ready = False
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.twin = multiprocessing.get_context("fork").Process(
                target=be_warm, args=(self.control, theirs, self.configuration), daemon=True
            )
            self.twin.start()

    def fork(self, budget: Budget | None = None) -> Child:
        """Return a fresh child, after the fork has reported that it is ready. Raises NotStarted."""
        if not self.alive():
            self.restart()
        if not self.ready:
            self.control.settimeout(LONGEST_START)
            self.ready = bool(self.control.recv(4096))
        return super().fork(budget)

    def alive(self) -> bool:
        """Return True if it can still fork."""
        return not self.lost and self.twin.is_alive()

    def close(self) -> None:
        """Stop it and all its children."""
        self.control.close()
        self.twin.join(5)
        self.twin.kill()


def be_warm(ours: socket.socket, control: socket.socket, config: dict) -> None:
    """Act as a warm process in the fork. Ignore Ctrl-C, because the parent has the terminal."""
    from ...runner.warm import import_everything, serve_forks

    ours.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(ENVIRONMENT | NO_BREAKPOINTS)
    import_everything()
    serve_forks(control, config)


class ReusedProcess(WarmProcess):
    """One process for learner code, reused for all checks and replaced if it hangs.

    It needs neither fork nor signals, nor sockets that only some systems have.
    """

    def __init__(self, limits: Limits):
        self.limits, self.level, self.starts = limits, NONE, 0
        self.start()

    def launch(self) -> None:
        """Start the process. It imports torch while this process continues."""
        self.process = subprocess.Popen(
            runner_command("serve"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | QUIET_TORCH,
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

    def fork(self, budget: Budget | None = None) -> Child:
        """Return a `Turn` with the same process, once it is ready. Raises NotStarted."""
        if self.waiting or not self.alive():
            self.restart()
        with suppress(queue.Empty):
            self.ready = self.ready or self.replies.get(timeout=LONGEST_START) is not None
        if not self.ready:
            raise NotStarted("the process that runs your code did not start")
        return Turn(self, budget)

    def alive(self) -> bool:
        """Return True if it is running."""
        return self.process.poll() is None

    def close(self) -> None:
        """Kill it, whatever it is doing."""
        self.process.kill()
        self.process.wait()


class Turn(Child):
    """One attempt's turn with the reused process."""

    def __init__(self, reused: ReusedProcess, budget: Budget | None):
        self.reused, self.budget = reused, budget or Budget()

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        assert self.reused.process.stdin is not None
        with self.budget.within(seconds):
            self.reused.waiting = True
            try:
                send(self.reused.process.stdin, message)
            except OSError:
                raise Ended from None

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
            self.reused.restart()
