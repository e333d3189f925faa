"""The processes that run learner code while somebody watches: a fork of this one, which forks a
fresh child for each file, or, where a system has no fork, one process that is kept until it stalls.
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
from ...isolation.ladder import NONE
from ...isolation.warm_process import (
    LONGEST_START,
    Budget,
    Child,
    Ended,
    NotStarted,
    TimedOut,
    WarmProcess,
)
from ...runner.messages import receive, send

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
QUIET_TORCH = {k: v for k, v in ENVIRONMENT.items() if k not in ("PATH", "LANG")}


class Forked(WarmProcess):
    """A warm process that is a fork of this one, which has imported torch already."""

    def launch(self) -> None:
        """Fork, and wait for nothing yet."""
        self.begin()
        self.ready, self.forks_ahead = False, True  # whose code it is need not fear itself
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.twin = multiprocessing.get_context("fork").Process(
                target=be_warm, args=(self.control, theirs, self.orders), daemon=True
            )
            self.twin.start()

    def fork(self, budget: Budget | None = None, compiles: bool = False) -> Child:
        """A fresh child, once the fork has said that it is ready. Raises NotStarted."""
        if not self.alive():
            self.restart()
        if not self.ready:
            self.control.settimeout(LONGEST_START)
            self.ready = bool(self.control.recv(4096))
        return super().fork(budget, compiles)

    def alive(self) -> bool:
        """Whether it can still fork."""
        return not self.lost and self.twin.is_alive()

    def close(self) -> None:
        """End it and all its children."""
        self.control.close()
        self.twin.join(5)
        self.twin.kill()


def be_warm(ours: socket.socket, control: socket.socket, config: dict) -> None:
    """In the fork: be what a warm process is, and leave keys to the one that has the terminal."""
    from ...runner.warm import import_everything, serve_forks

    ours.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    import_everything()
    serve_forks(control, config)


class Kept(WarmProcess):
    """One process for learner code, kept from check to check; a fresh one where that stalls.

    It needs neither fork nor signals, nor sockets that only some systems have.
    """

    def __init__(self, limits: Limits):
        self.limits, self.rung, self.starts = limits, NONE, 0
        self.start()

    def launch(self) -> None:
        """Start it; torch is imported over there while this side goes on."""
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
        """In a thread, since not every system can wait for a pipe: its messages, at last None."""
        assert process.stdout is not None
        while (message := receive(process.stdout)) is not None:
            replies.put(message)
        replies.put(None)

    def fork(self, budget: Budget | None = None, compiles: bool = False) -> Child:
        """The same process, once it has said that it is ready. Raises NotStarted."""
        if self.waiting or not self.alive():
            self.restart()
        with suppress(queue.Empty):
            self.ready = self.ready or self.replies.get(timeout=LONGEST_START) is not None
        if not self.ready:
            raise NotStarted("the process that runs your code did not start")
        return Turn(self, budget)

    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def close(self) -> None:
        """Kill it, whatever it does."""
        self.process.kill()
        self.process.wait()


class Turn(Child):
    """One attempt's time with the process that is kept."""

    def __init__(self, kept: Kept, budget: Budget | None):
        self.kept, self.budget = kept, budget or Budget()

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        assert self.kept.process.stdin is not None
        with self.budget.within(seconds):
            self.kept.waiting = True
            try:
                send(self.kept.process.stdin, message)
            except OSError:
                raise Ended from None

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """The next message. Raises TimedOut, or Ended (also for a message that is too large)."""
        with self.budget.within(seconds) as deadline:
            try:
                reply = self.kept.replies.get(timeout=deadline - time.monotonic())
            except queue.Empty:
                raise TimedOut from None
            if reply is None or len(reply) > most_bytes:
                raise Ended
        self.kept.waiting = False
        return reply

    def close(self) -> None:
        """Nothing, unless an answer is still owed: then a fresh process is started at once."""
        if self.kept.waiting:
            self.kept.restart()
