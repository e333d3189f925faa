"""Tests, collected once and run on one attempt after another.

A fresh pytest costs seconds. Here pytest runs in a thread: it collects the tests, and its run
loop then waits for attempts instead of going through the tests once.
"""

import os
import queue
import threading
from collections.abc import Collection
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from ..attempts.attempt import Attempt
from ..attempts.earlier import once
from ..attempts.points import settled, share_taken
from ..attempts.verdict import CheckResult, State, state_of
from ..course import CourseError
from .collecting import QUESTION
from .plugin import ALONE, CURRENT, RESULT, result_of

QUIET = ["-o", "addopts=", "--import-mode=importlib", "--assert=plain", "--capture=no"]
# Ours, and nobody else's: other people's plugins take time, and do something around each test.
PLUGINS = ["--disable-plugin-autoload", "-p", "tensorgrade.testing.plugin"]
# What a run loop without a screen, a cache or a clock of its own has no use for. Several of them
# do something around each test of each attempt.
UNUSED = (
    "cacheprovider",
    "timeout",
    "faulthandler",
    "terminal",
    "logging",
    "warnings",
    "unittest",
    "unraisableexception",
    "threadexception",
    "doctest",
    "pastebin",
    "junitxml",
    "stepwise",
)
LONGEST_START = 120


class WarmSession:
    """A pytest session over a folder of tests that stays open."""

    def __init__(self, tests: Path):
        self.folder = tests
        self.work: queue.Queue = queue.Queue()
        self.done: queue.Queue = queue.Queue()
        self.items: dict[str, list[pytest.Function]] = {}
        self.shares: dict[tuple[str, str, str], float] = {}  # what mistakes cost, see share_alone
        # Named from the folder above, two folders of tests in one process do not get each other's.
        arguments = [
            *QUIET,
            *PLUGINS,
            *(f"-pno:{name}" for name in UNUSED),
            f"--rootdir={tests.parent}",
            str(tests),
        ]
        self.thread = threading.Thread(target=self.run, args=(arguments,), daemon=True)
        self.thread.start()
        # Two threads must not parse Python at the same time: CPython's parser keeps count of its
        # depth for both in one place, and fails now and then with a SystemError.
        self.wait_until_collected()

    def wait_until_collected(self) -> None:
        """Once, before anything is asked. Raises CourseError where they could not be."""
        if (trouble := self.done.get(timeout=LONGEST_START)) is not None:
            raise CourseError(f"the graders could not be collected: {trouble}")

    def run(self, arguments: list[str]) -> None:
        """In the thread: pytest, with this object as a plugin of its own."""
        os.environ.pop("PYTEST_ADDOPTS", None)  # meant for somebody's own runs of pytest
        code = pytest.main(arguments, plugins=[self])
        self.done.put(f"pytest ended with {code!r}; run `pytest {arguments[-1]}` to see why")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Sort the tests by chapter, then serve attempts until told to stop."""
        if session.testsfailed:
            raise pytest.UsageError("not every file could be collected")
        for item in (item for item in session.items if isinstance(item, pytest.Function)):
            self.items.setdefault(item.stash[QUESTION].chapter, []).append(item)
        self.done.put(None)
        while (work := self.work.get()) is not None:
            try:
                results: object = self.check(session, *work)
            except Exception as error:  # told to the caller, who is in another thread
                results = error
            work = None  # nothing of an attempt is kept until the next one comes
            if CURRENT in session.config.stash:
                del session.config.stash[CURRENT]
            self.done.put(results)
            del results
        return True

    def check(
        self, session: pytest.Session, attempt: Attempt, exercises: Collection[str]
    ) -> list[CheckResult]:
        """Run the chapter's tests on an attempt, or those of some exercises."""
        session.config.stash[CURRENT] = attempt
        attempt.share_alone = lambda name, mistake: self.share_alone(attempt, name, mistake)
        results: dict[str, list[CheckResult]] = {}
        for item in self.tests(attempt.chapter.name, *exercises):
            result = answer(item, attempt)
            results.setdefault(result.exercise, []).append(result)
        if any(state_of(checks) == State.WRONG for checks in results.values()):
            results = once(attempt, results, lambda name: self.again(attempt, name), self.folder)
        return [r for name in results for r in settled(attempt.exercises[name], results[name])]

    def share_alone(self, attempt: Attempt, exercise: str, mistake: str) -> float | None:
        """Return the share that the checks take for one known mistake alone.

        None if there is no solution to make it from.
        """
        pairs, key = attempt.pairs(), (attempt.chapter.name, exercise, mistake)
        if pairs is not None and key not in self.shares:
            backend = pairs.made(exercise, (mistake,))
            alone = Attempt(backend, attempt.course, attempt.references, own=attempt.own)
            alone.run([exercise])
            self.shares[key] = share_taken(alone.exercises[exercise], self.again(alone, exercise))
        return self.shares.get(key)

    def again(self, attempt: Attempt, exercise: str) -> list[CheckResult]:
        """The checks of one exercise on what is seen of it now."""
        return [answer(item, attempt) for item in self.tests(attempt.chapter.name, exercise)]

    def tests(self, chapter: str, *exercises: str) -> list[pytest.Function]:
        """The collected tests of a chapter, or of some exercises in it."""
        items = self.items[chapter]
        return [i for i in items if not exercises or i.stash[QUESTION].exercise in exercises]

    def results(self, attempt: Attempt, *exercises: str) -> list[CheckResult]:
        """Run the cases of these exercises (of all), then every test on what was seen of them.

        The cases run in the caller's thread, where they can be interrupted. Raises what the tests
        themselves raise.
        """
        attempt.checked = lambda other, names: self.results(other, *names)
        attempt.run(exercises)
        self.work.put((attempt, exercises))
        results = self.done.get()
        if isinstance(results, Exception):
            raise results
        return results

    def close(self) -> None:
        """End the session."""
        self.work.put(None)
        self.thread.join(5)


def answer(item: pytest.Function, attempt: Attempt) -> CheckResult:
    """One test on an attempt.

    One that takes nothing but the attempt needs nothing of pytest's protocol.
    """
    if item.stash[ALONE]:
        return result_of(
            item, attempt, pytest.CallInfo.from_call(lambda: item.obj(attempt), "call")
        )
    if RESULT in item.stash:
        del item.stash[RESULT]  # nobody gets the result of the attempt before
    item.config.stash[CURRENT] = attempt
    runtestprotocol(item, nextitem=None, log=False)
    return item.stash[RESULT]
