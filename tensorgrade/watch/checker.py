"""Runs the public tests on one chapter again and again, without a new start of anything."""

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ..backends.elsewhere import Elsewhere
from ..backends.in_process import InProcess
from ..course import Limits
from ..desk import Desk
from ..grading.session import WarmSession
from ..results import CheckResult
from ..sandbox.warm_process import WarmProcess
from ..views.note import Note
from ..views.summary import left_out

# Without fork a check runs in this process, where an endless loop is not ended.
CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
PATIENCE = 3.0  # seconds that a file may take to load, or one call to come back


class WatchDesk(Desk):
    """A desk whose learner code runs in forked children, so that an endless loop is ended."""

    def backend(self, chapter: str, submission):
        """A fresh child of the warm process for every check. Public cases need no sandbox."""
        if not CAN_FORK:
            return InProcess(submission)
        if self.warm is None or not self.warm.alive():
            self.warm = WarmProcess(self.limits)
        return Elsewhere(submission, self.warm, self.limits, requests=self.requests)

    @property
    def limits(self) -> Limits:
        """The course's limits, but for the time: somebody is waiting."""
        return replace(self.course.limits, load_seconds=PATIENCE, case_seconds=PATIENCE)


@dataclass(frozen=True)
class Checked:
    """One check as the views want it: the test's result, and a note where it failed."""

    tensorgrade: CheckResult
    note: Note | None


class Checker:
    """The tests of a folder, kept warm; `folder` holds the learner's files."""

    def __init__(self, tests: Path, folder: Path):
        torch.set_num_threads(1)
        self.desk, self.folder = WatchDesk(tests), folder
        self.course = self.desk.course
        self.session = WarmSession(tests)
        self.left_out: dict[str, list[str]] = {}  # by chapter: what of its file could not be run

    def path(self, chapter: str) -> Path:
        """The learner's file of a chapter."""
        return self.folder / f"{chapter}.py"

    def check(self, chapter: str) -> tuple[dict[str, list[Checked]], float]:
        """(checks by exercise, seconds that they took) for a chapter's file as it is now."""
        began = time.perf_counter()
        attempt = self.desk.attempt(chapter, self.path(chapter))
        found: dict[str, list[Checked]] = {}
        try:
            for result in self.session.results(attempt):
                part = getattr(attempt, result.exercise)
                found.setdefault(result.exercise, []).append(with_note(result, part))
            self.left_out[chapter] = left_out(attempt)
        finally:
            attempt.backend.close()
        return found, time.perf_counter() - began

    def close(self) -> None:
        """End the session and the warm process."""
        self.session.close()
        self.desk.close()


def with_note(result: CheckResult, part) -> Checked:
    """A result with its note: the mistakes recognised, where they say something."""
    if result.diagnosis is None:
        return Checked(result, None)
    named = () if result.diagnosis.kind in ("to do", "timeout") else part.mistakes
    messages = {name: part.attempt.fingerprints.messages[name] for name in named}
    return Checked(result, Note(result.said, result.diagnosis, messages, part.trace))
