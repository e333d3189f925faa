"""Start a warm process and fork children from it, each with a stream of its own."""

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
from ..runner.wire import LENGTH
from .child_configuration import configuration
from .command import ENVIRONMENT, HIDDEN_GPUS, runner_command, sandboxed_command
from .levels import CUDA, NONE, Level
from .probing import last_line

LONGEST_START = 120
SECONDS_OF_SILENCE = 0.5  # seconds until the next check that the warm process is alive
SHORTEST_WAIT = 0.001  # seconds; a socket takes 0 as "do not wait", and rejects negative times
DRIVER_VARIABLES = ("LD_LIBRARY_PATH", "CUDA_HOME", *HIDDEN_GPUS)


class TimedOut(Exception):
    """Raised if no complete reply arrives within the time allowed."""


class Ended(Exception):
    """Raised if the stream breaks: the child is gone, or sent an invalid reply."""


class Budget:
    """The seconds and bytes that all children of one submission may use together.

    Only time spent waiting for a child counts, so that work on this side costs learners nothing.
    The bytes are those of all replies, which this side stores until the submission is judged.
    """

    def __init__(self, seconds: float = inf, reply_bytes: float = inf):
        self.left, self.bytes_left = seconds, reply_bytes

    @property
    def used_up(self) -> bool:
        """Return True if no time is left."""
        return self.left <= 0

    @property
    def full(self) -> bool:
        """Return True if a reply was refused because all replies together were too large."""
        return self.bytes_left <= 0

    def takes(self, count: int) -> bool:
        """Subtract the size of a reply, and return True if bytes are left then.

        After a reply that is too large, no bytes are left, so all further ones are refused.
        """
        self.bytes_left = self.bytes_left - count if count <= self.bytes_left else 0
        return self.bytes_left > 0

    @contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Yield the deadline of a wait for a child, at most these seconds. Raises TimedOut."""
        if self.used_up:
            raise TimedOut
        begun = time.monotonic()
        try:
            yield begun + min(seconds, self.left)
        finally:
            self.left -= time.monotonic() - begun


class Child:
    """A process that runs one learner's code. Its messages are untrusted bytes.

    budget: shared with the children of the same submission before and after it.
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
        """Return the next message. Raises TimedOut, or Ended (also for one that is too large)."""
        with self.budget.within(seconds) as deadline:
            (length,) = LENGTH.unpack(self.exactly(LENGTH.size, deadline))
            if length > most_bytes or not self.budget.takes(length):
                raise self.broken_off()
            return self.exactly(length, deadline)

    def exactly(self, count: int, deadline: float) -> bytes:
        """Return exactly this many bytes before the deadline, however slowly they arrive."""
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
        """Record that the stream broke, and return the error to raise."""
        self.broken = True
        return Ended()

    def close(self) -> None:
        """End the process, and wait for its end only if the stream broke.

        In that case the end shows if the child died alone or with the warm process. The latter is
        not the learner's fault.
        """
        self.stream.close()
        if self.broken:
            self.warm.kill(self.number)
        else:
            self.warm.end(self.number)


class WarmProcess:
    """A process that has imported torch and forks a child for each attempt in milliseconds.

    level: the isolation level of its children. Raises NotStarted.
    """

    def __init__(self, limits: Limits, level: Level = NONE):
        self.limits, self.level = limits, level
        self.configuration = configuration(limits, level.layers)
        self.numbers = itertools.count(1)
        self.starts = 0
        self.start()

    @property
    def isolation(self) -> str:
        """Return the name of the isolation level."""
        return self.level.name

    def start(self) -> None:
        """Launch the process; retry once if a signal killed it too early. Raises NotStarted."""
        try:
            self.launch()
        except NotStarted:
            if 0 <= self.process.returncode <= 128:  # no signal ended it; bubblewrap adds 128
                raise
            self.launch()

    def launch(self) -> None:
        """Launch the process. Of our open files it gets only its end of the control socket."""
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
        """Reset the records of children and errors."""
        self.starts += 1
        self.lost = False
        self.first = next(self.numbers)  # children with lower numbers ended with an earlier process
        self.ended: dict[int, int] = {}
        self.leaving: set[int] = set()  # ending children that need no wait

    def command(self, control_fd: int) -> list[str]:
        """Return the command line for the isolation level."""
        if "bubblewrap" in self.level.layers:
            network = "net" not in self.level.layers
            return sandboxed_command("warm", control_fd, self.configuration, network=network)
        return runner_command("warm", control_fd, self.configuration)

    def environment(self) -> dict[str, str]:
        """Return the environment variables of the process.

        On the GPU's level they include the location of its driver, and which GPUs may be used.
        """
        if self.level is not CUDA:
            return ENVIRONMENT
        shown = {name: text for name, text in ENVIRONMENT.items() if name not in HIDDEN_GPUS}
        return shown | {name: os.environ[name] for name in DRIVER_VARIABLES if name in os.environ}

    def await_readiness(self, said: IO[bytes]) -> None:
        """Wait until the process can fork. Raises NotStarted with the last line of its output."""
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

    def fork(self, budget: Budget | None = None) -> Child:
        """Return a new child with a stream to it, and restart the warm process if it has died."""
        # Record the ends reported so far.
        while not self.lost and select.select([self.control], [], [], 0)[0]:
            self.take_report()
        if not self.alive():
            self.restart()
        number = next(self.numbers)
        ours, theirs = socket.socketpair()
        with theirs:
            request = json.dumps({"fork": number}).encode()
            try:
                socket.send_fds(self.control, [request], [theirs.fileno()])
            except OSError:  # the process died after the last check
                self.restart()
                number = next(self.numbers)  # lower ones belong to the process that died
                request = json.dumps({"fork": number}).encode()
                socket.send_fds(self.control, [request], [theirs.fileno()])
        return Child(self, number, ours, budget)

    def restart(self) -> None:
        """Replace the process with a new one. Raises NotStarted."""
        self.close()
        self.start()

    def end(self, number: int) -> None:
        """End a child without waiting for it."""
        if self.ended.pop(number, None) is None:
            self.leaving.add(number)
            self.order({"kill": number})

    def kill(self, number: int) -> int:
        """End a child if it still runs; return its exit status (negative: ended by that signal)."""
        if number not in self.ended:
            self.order({"kill": number})
        return self.wait(number)

    def order(self, request: dict) -> None:
        """Send a request to the process; if the process is gone, record that."""
        try:
            self.control.send(json.dumps(request).encode())
        except OSError:
            self.lost = True

    def wait(self, number: int) -> int:
        """Wait for a child's end; return its exit status, or -9 if the warm process is gone."""
        while number not in self.ended and number > self.first and not self.lost:
            self.take_report()
        return self.ended.pop(number, -9)

    def take_report(self) -> None:
        """Wait for the next report of an end and record it, or record that the process has died.

        Another process may hold the other end of the socket and keep it open. The warm process
        itself is therefore checked now and then.
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

    def alive(self) -> bool:
        """Return True if the process can still fork: it has not ended or stopped answering."""
        return not self.lost and self.process.poll() is None

    def close(self) -> None:
        """End the process and all its children."""
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


class NotStarted(CourseError):
    """The warm process could not be started; the message states the reason."""
