"""Runs the public tests on one chapter again and again, without a new start of anything.

Learner code runs in another process, which is ended where it does not come back: a fresh child of
a fork of this process, or, where a system has no fork, one process that is kept until it stalls.
"""

import multiprocessing
import os
import queue
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ...attempts.backend import Backend
from ...attempts.in_child import InChild
from ...attempts.maker import AttemptMaker
from ...attempts.not_begun import briefly
from ...attempts.setup import Setup
from ...course import Course, Limits
from ...exchange.cases import Case
from ...exchange.observation import Observation
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
from ...runner.reading import parts
from ...sources.submission import Submission
from ...testing.warm_session import WarmSession
from ...views.summary import Results, State, group, left_out, state_of

QUIET_TORCH = {k: v for k, v in ENVIRONMENT.items() if k not in ("PATH", "LANG")}


class Forked(WarmProcess):
    """A warm process that is a fork of this one, which has imported torch already."""

    def launch(self) -> None:
        """Fork, and wait for nothing yet."""
        self.starts += 1
        self.lost, self.ready, self.compiler = False, False, False
        self.ended, self.leaving = {}, set()
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


CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
PATIENCE = 3.0  # seconds that a file may take to load, or one call to come back


class Watched(InChild):
    """A file that somebody is at work on; most of its exercises may not be begun."""

    def run(self, cases: list[Case]) -> list[Observation]:
        """Run the cases; where an exercise is not begun, as many as it takes to see that."""
        return briefly(super().run, self.source.text, cases)


class WatchMaker(AttemptMaker):
    """A maker whose learner code runs in a process of its own, so that an endless loop is ended."""

    def backend(self, submission: Submission) -> Backend:
        """Public cases need no sandbox."""
        return Watched(submission, self.warm_up(), self.limits, requests=self.requests)

    def warm_up(self) -> WarmProcess:
        """The process that runs learner code or forks those that do. Raises NotStarted."""
        if self.warm is None:
            self.warm = Forked(self.limits) if CAN_FORK else Kept(self.limits)
        return self.warm

    @property
    def limits(self) -> Limits:
        """The course's limits, but for the time: somebody is waiting."""
        return replace(self.course.limits, load_seconds=PATIENCE, case_seconds=PATIENCE)


def check_all(tests: Path, folder: Path) -> tuple[Course, Results]:
    """The course, and the checks on every chapter that a folder holds."""
    checker, results = Checker(tests, folder), Results()
    try:
        for chapter in checker.course.chapters:
            if checker.path(chapter.name).exists():
                results |= checker.check(chapter.name)[0]
    finally:
        checker.close()
    return checker.course, results


DEFINED = re.compile(r"(?:@|def |class |async def )")
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Pieces:
    """A file's definitions by name, and the rest of its statements."""

    definitions: dict[str, str]
    loose: list[str]

    @classmethod
    def of(cls, text: str) -> "Pieces":
        """The pieces of a text.

        >>> Pieces.of("import torch\\ndef f(x): return x")
        Pieces(definitions={'f': 'def f(x): return x'}, loose=['import torch'])
        """
        definitions: dict[str, str] = {}
        loose = []
        for names, part in parts(text):
            if DEFINED.match(part) and len(names) == 1 and names[0] not in definitions:
                definitions[names[0]] = part
            else:
                loose.append(part)
        return cls(definitions, loose)

    def reached_from(self, before: "Pieces") -> set[str] | None:
        """The names of definitions that are not as they were, or that speak of such a one.

        None where anything else has changed, or runs what has: then it can be all of them.

        >>> now = Pieces.of("def f(): return 2\\ndef g(): return f()\\ndef h(): return 3")
        >>> sorted(now.reached_from(Pieces.of("def f(): return 1\\n" + now.definitions["g"])))
        ['f', 'g', 'h']
        """
        then, now = before.definitions, self.definitions
        reached = {name for name in then.keys() | now.keys() if then.get(name) != now.get(name)}
        if self.loose != before.loose or speaks_of(reached, *self.loose):
            return None
        while further := {n for n in now.keys() - reached if speaks_of(reached, now[n])}:
            reached |= further
        return reached


def speaks_of(names: set[str], *texts: str) -> bool:
    """Whether one of the names stands in one of the texts, as whatever."""
    return any(not names.isdisjoint(WORD.findall(text)) for text in texts)


class Checker:
    """The tests of a folder, kept warm; `folder` holds the learner's files."""

    def __init__(self, tests: Path, folder: Path):
        torch.set_num_threads(1)
        self.maker, self.folder = WatchMaker(Setup(tests)), folder
        self.course = self.maker.course
        self.maker.warm_up()  # before this process has threads, which no fork survives
        self.before: dict[str, tuple[Pieces, list, Results]] = {}  # by chapter: the last check
        self.session = WarmSession(tests)

    def path(self, chapter: str) -> Path:
        """The learner's file of a chapter."""
        return self.folder / f"{chapter}.py"

    def check(self, chapter: str) -> tuple[Results, list[str]]:
        """Checks by exercise, and what could not be run, of a chapter's file as it is now.

        What was right in the last check, and nothing of which has changed since, is so still.
        """
        attempt = self.maker.attempt(chapter, self.path(chapter))
        now, files = Pieces.of(attempt.backend.source.text), self.states(attempt.backend.weights)
        try:
            right = self.still_right(chapter, now, files)
            left = [name for name in attempt.exercises if name not in right]
            left = left or list(attempt.exercises)[:1]  # the file may fail to load by now
            checked = group(self.session.results(attempt, *left))
            self.before[chapter] = now, files, right | checked
            return right | checked, left_out(attempt)
        finally:
            attempt.backend.close()

    def states(self, names: Iterable[str]) -> list[tuple[int, int]]:
        """How files beside the learner's stand: when they were written, and how long they are."""
        found = [self.folder / name for name in names]
        return [(path.stat().st_mtime_ns, path.stat().st_size) for path in found if path.exists()]

    def still_right(self, chapter: str, now: Pieces, files: list) -> Results:
        """The checks of exercises that were right, and that no change since then can reach."""
        before, files_before, results = self.before.get(chapter, (now, None, {}))
        reached = now.reached_from(before)
        if reached is None or files != files_before:
            return {}
        right = {name: checks for name, checks in results.items() if state_of(checks) == State.DONE}
        return {name: checks for name, checks in right.items() if name not in reached}

    def close(self) -> None:
        """End the session and the warm process."""
        self.session.close()
        self.maker.close()
