"""Hidden tests, collected once and run on one attempt after another.

A fresh pytest costs seconds. Here pytest runs in a thread: it collects the graders, and its run
loop then waits for attempts instead of going through the tests once.
"""

import queue
import threading
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from ..attempt import Attempt
from ..course import CourseError
from ..diagnosis import Wrong
from ..pytest_plugin import CURRENT, RESULT, chapter_of
from ..results import CheckResult

QUIET = ["-o", "addopts=", "--import-mode=importlib", "--assert=plain", "--capture=no"]
# What a run loop without a screen, a cache or a clock of its own has no use for. Several of them
# do something around each test of each attempt.
UNUSED = (
    "cacheprovider", "timeout", "faulthandler", "terminal", "logging", "warnings", "unittest",
    "unraisableexception", "threadexception", "doctest", "pastebin", "junitxml", "stepwise",
)
LONGEST_START = 120


class WarmSession:
    """A pytest session over a folder of graders that stays open."""

    def __init__(self, graders: Path):
        self.work: queue.Queue = queue.Queue()
        self.done: queue.Queue = queue.Queue()
        self.items: dict[str, list] = {}
        # Named from the folder above, two folders of tests in one process do not get each other's.
        arguments = [*QUIET, *(f"-pno:{name}" for name in UNUSED), f"--rootdir={graders.parent}", str(graders)]
        self.thread = threading.Thread(target=self.run, args=(arguments,), daemon=True)
        self.thread.start()
        self.is_ready = False

    def ready(self) -> None:
        """Wait until the graders are collected. Raises CourseError where they could not be."""
        if not self.is_ready and (trouble := self.done.get(timeout=LONGEST_START)) is not None:
            raise CourseError(f"the graders could not be collected: {trouble}")
        self.is_ready = True

    def run(self, arguments: list[str]) -> None:
        """In the thread: pytest, with this object as a plugin of its own."""
        code = pytest.main(arguments, plugins=[self])
        self.done.put(f"pytest ended with {code!r}; run `pytest {arguments[-1]}` to see why")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session) -> bool:
        """Sort the tests by chapter, then serve attempts until told to stop."""
        for item in session.items:
            self.items.setdefault(chapter_of(item.path), []).append(item)
        self.done.put(None)
        while (work := self.work.get()) is not None:
            try:
                self.done.put(self.check(session, *work))
            except Exception as error:  # told to the caller, who is in another thread
                self.done.put(error)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item, call) -> pytest.TestReport | None:
        """The report of a failed check without a traceback: its diagnosis says it all.

        pytest would parse the sources of all frames on the way, for every failure of every
        attempt. Errors of a test itself are left to it.
        """
        if call.excinfo is None or not call.excinfo.errisinstance(Wrong):
            return None
        return pytest.TestReport(
            item.nodeid, item.location, {}, "failed", "", call.when,
            duration=call.duration, start=call.start, stop=call.stop,
        )

    def check(self, session, attempt: Attempt, exercise: str | None) -> list[CheckResult]:
        """Run the chapter's tests on an attempt, or those of one exercise."""
        session.config.stash[CURRENT] = attempt
        items = self.tests(attempt.chapter.name, exercise)
        for item, following in zip(items, [*items[1:], None]):
            if RESULT in item.stash:
                del item.stash[RESULT]  # nobody gets the result of the attempt before
            runtestprotocol(item, nextitem=following, log=False)
        return [item.stash[RESULT] for item in items]

    def tests(self, chapter: str, exercise: str | None = None) -> list:
        """The collected tests of a chapter, or of one exercise in it."""
        self.ready()
        items = self.items[chapter]
        return [i for i in items if exercise in (None, i.get_closest_marker("exercise").args[0])]

    def results(self, attempt: Attempt, exercise: str | None = None) -> list[CheckResult]:
        """The result of every test on an attempt. Raises what the tests themselves raise."""
        self.ready()
        self.work.put((attempt, exercise))
        found = self.done.get()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        """End the session."""
        self.work.put(None)
        self.thread.join(5)
