"""Starts a warm process and gets fresh children from it, each with a stream of its own."""

import itertools
import json
import os
import select
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import IO, Any, Self

from ..course import CourseError, Limits
from ..runner.messages import LENGTH
from .command import ENVIRONMENT, runner_command, sandboxed_command
from .ladder import CUDA, NONE, Rung
from .orders import orders
from .probing import last_line

LONGEST_START = 120
SECONDS_OF_SILENCE = 0.5  # after which it is looked at whether the warm process is there at all
SHORTEST_WAIT = 0.001  # a socket takes 0 for "do not wait", and nothing below it
DRIVER_VARIABLES = ("LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")


class TimedOut(Exception):
    """No complete reply within the time allowed."""


class Ended(Exception):
    """The stream broke: the child is gone, or sent what no reply may be."""


class Budget:
    """The seconds and the bytes that all children of one submission may take together.

    Only waiting for a child counts: what this side is busy with costs no learner anything. The
    bytes are those of all replies, which this side holds until the submission is judged.
    """

    def __init__(self, seconds: float = inf, reply_bytes: float = inf):
        self.left, self.bytes_left = seconds, reply_bytes

    @property
    def used_up(self) -> bool:
        """Return True if no time is left."""
        return self.left <= 0

    @property
    def full(self) -> bool:
        """Return True if a reply was refused, because all of them were too large together."""
        return self.bytes_left <= 0

    def takes(self, count: int) -> bool:
        """Return True if a reply of so many bytes fits; after one that does not, none does."""
        self.bytes_left = self.bytes_left - count if count <= self.bytes_left else 0
        return self.bytes_left > 0

    @contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """The moment until which to wait for a child, at most so long. Raises TimedOut."""
        if self.used_up:
            raise TimedOut
        begun = time.monotonic()
        try:
            yield begun + min(seconds, self.left)
        finally:
            self.left -= time.monotonic() - begun


class Child:
    """A process that runs one learner's code. Whatever it sends is bytes until it is checked.

    budget: what it shares with the children before and after it.
    """

    def __init__(
        self,
        warm: "WarmProcess",
        number: int,
        stream: socket.socket,
        budget: Budget | None = None,
    ):
        self.warm, self.number, self.stream = warm, number, stream
        self.budget = budget or Budget()
        self.broken = False

    def send(self, message: bytes, seconds: float) -> None:
        """Send one message. Raises TimedOut or Ended."""
        with self.budget.within(seconds) as deadline:
            self.stream.settimeout(max(deadline - time.monotonic(), SHORTEST_WAIT))
            try:
                self.stream.sendall(LENGTH.pack(len(message)) + message)
            except TimeoutError:
                raise TimedOut from None
            except OSError:
                raise self.broken_off() from None

    def receive(self, seconds: float, most_bytes: int) -> bytes:
        """The next message. Raises TimedOut, or Ended (also for a message that is too large)."""
        with self.budget.within(seconds) as deadline:
            (length,) = LENGTH.unpack(self.exactly(LENGTH.size, deadline))
            if length > most_bytes or not self.budget.takes(length):
                raise self.broken_off()
            return self.exactly(length, deadline)

    def exactly(self, count: int, deadline: float) -> bytes:
        """So many bytes, before the deadline, however slowly they trickle in."""
        pieces, missing = [], count
        while missing:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimedOut
            self.stream.settimeout(left)
            try:
                piece = self.stream.recv(min(missing, 1 << 20))
            except TimeoutError:
                raise TimedOut from None
            except OSError:
                raise self.broken_off() from None
            if not piece:
                raise self.broken_off()
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def broken_off(self) -> Ended:
        """Remember that the stream broke, and say so."""
        self.broken = True
        return Ended()

    def close(self) -> None:
        """Have the process ended. Nobody waits for that, unless the stream broke.

        Then it is told which of the two has ended: the child alone, or the warm process too, which
        is no learner's fault.
        """
        self.stream.close()
        if self.broken:
            self.warm.kill(self.number)
        else:
            self.warm.end(self.number)


class WarmProcess:
    """A process that has imported torch and forks a child for each attempt in milliseconds.

    rung: how its children are locked in. Raises NotStarted.
    """

    def __init__(self, limits: Limits, rung: Rung = NONE):
        self.limits, self.rung = limits, rung
        # Where children share a table of processes, one that waits could be stopped by another.
        self.forks_ahead = "pid" in rung.layers
        self.orders = orders(limits, rung.layers)
        self.numbers = itertools.count(1)
        self.starts = 0
        self.start()

    @property
    def isolation(self) -> str:
        """The name of the rung."""
        return self.rung.name

    def start(self) -> None:
        """Launch it; once more where somebody killed it before it was ready. Raises NotStarted."""
        try:
            self.launch()
        except NotStarted:
            if not was_killed(self.process.returncode):
                raise
            self.launch()

    def launch(self) -> None:
        """The process itself, with its end of the control socket and nothing else of ours."""
        self.begin()
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, tempfile.TemporaryFile() as said:
            self.process = subprocess.Popen(
                self.command(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd="/",
            )
            theirs.close()
            self.await_readiness(said)

    def begin(self) -> None:
        """Know of no child, and of no trouble."""
        self.starts += 1
        self.lost, self.compiler = False, False
        self.spare: Child | None = None  # forked ahead, while the one before is at work
        self.first = next(self.numbers)  # what has a lower number ended with the process before
        self.ended: dict[int, int] = {}
        self.leaving: set[int] = set()  # whose end nobody waits for

    def command(self, control_fd: int) -> list[str]:
        """The command line of the rung."""
        if "bubblewrap" in self.rung.layers:
            network = "net" not in self.rung.layers
            return sandboxed_command("warm", control_fd, self.orders, network=network)
        return runner_command("warm", control_fd, self.orders)

    def environment(self) -> dict[str, str]:
        """What the process may know of ours: nothing, or where the GPU and its driver are."""
        told = DRIVER_VARIABLES if self.rung is CUDA else ()
        return ENVIRONMENT | {name: os.environ[name] for name in told if name in os.environ}

    def await_readiness(self, said: IO[bytes]) -> None:
        """Wait until it can fork. Raises NotStarted with the last that it said."""
        self.control.settimeout(LONGEST_START)
        try:
            ready = self.control.recv(4096)
        except OSError:
            ready = b""
        if not ready:
            self.close()
            said.seek(0)
            trouble = last_line(said.read().decode(errors="replace"))
            raise NotStarted(f"the warm process did not start: {trouble}")

    def fork(self, budget: Budget | None = None, compiles: bool = False) -> Child:
        """A fresh child with a stream to it; from a fresh warm process where that has died.

        compiles: it will need torch's compiler.
        """
        self.take_leave()
        if not self.alive():
            self.restart()
        if compiles:
            self.import_compiler()
        child = self.forked()  # first, since this is where a death is noticed
        if self.forks_ahead:
            if self.spare is None or self.spare.number in self.ended:
                self.spare = self.forked()
            child, self.spare = self.spare, child
        child.budget = budget or Budget()
        return child

    def forked(self) -> Child:
        """A child that knows nothing yet."""
        number = next(self.numbers)
        ours, theirs = socket.socketpair()
        with theirs:
            request = json.dumps({"fork": number}).encode()
            try:
                socket.send_fds(self.control, [request], [theirs.fileno()])
            except OSError:  # it died since we looked
                self.restart()
                socket.send_fds(self.control, [request], [theirs.fileno()])
        return Child(self, number, ours)

    def import_compiler(self) -> None:
        """Have torch's compiler imported: once for all children, and on nobody's clock."""
        if self.compiler:
            return
        if self.spare is not None:
            self.spare.close()  # it has been forked without
            self.spare = None
        number = next(self.numbers)
        self.order({"compiler": number})
        self.compiler = self.wait(number) == 0

    def restart(self) -> None:
        """Put a fresh one in its place. Raises NotStarted."""
        self.close()
        self.start()

    def end(self, number: int) -> None:
        """Have a child ended, without waiting for it."""
        if self.ended.pop(number, None) is None:
            self.leaving.add(number)
            self.order({"kill": number})

    def kill(self, number: int) -> int:
        """End a child if it still runs; returns its exit status (negative: by that signal)."""
        if number not in self.ended:
            self.order({"kill": number})
        return self.wait(number)

    def order(self, request: dict) -> None:
        """Send a request to it; where it is gone, that is noted."""
        try:
            self.control.send(json.dumps(request).encode())
        except OSError:
            self.lost = True

    def wait(self, number: int) -> int:
        """Wait until a child's end is reported; -9 where the warm process itself is gone."""
        while number not in self.ended and number > self.first and not self.lost:
            self.take_report()
        return self.ended.pop(number, -9)

    def take_report(self) -> None:
        """Wait for the next end that is reported, and note it; or that the process has died.

        Whoever else has its end of the socket, it is asked for itself now and then.
        """
        until = time.monotonic() + LONGEST_START
        while not select.select([self.control], [], [], SECONDS_OF_SILENCE)[0]:
            if not self.alive() or time.monotonic() > until:
                self.lost = True
                return
        try:
            message = self.control.recv(4096)
        except OSError:
            message = b""
        if not message:
            self.lost = True
            return
        report = json.loads(message)
        if report["ended"] in self.leaving:
            self.leaving.remove(report["ended"])
        else:
            self.ended[report["ended"]] = report["status"]

    def take_leave(self) -> None:
        """Note all ends that are reported by now."""
        while not self.lost and select.select([self.control], [], [], 0)[0]:
            self.take_report()

    def alive(self) -> bool:
        """Whether it can still fork: it has not ended, and has not stopped to answer."""
        return not self.lost and self.process.poll() is None

    def close(self) -> None:
        """End it and all its children."""
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


def was_killed(status: int) -> bool:
    """Whether an exit status tells of a signal: negative, or above 128 (from bubblewrap)."""
    return status < 0 or status > 128


class NotStarted(CourseError):
    """The warm process could not be started; the message says why."""
