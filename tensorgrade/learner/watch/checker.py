"""Runs the public tests on one chapter again and again, without a new start of anything."""

import os
import time
from dataclasses import replace
from pathlib import Path

import torch

from ...attempts.backend import Backend
from ...attempts.in_child import InChild
from ...attempts.in_process import InProcess
from ...attempts.maker import AttemptMaker
from ...attempts.setup import Setup
from ...course import Limits
from ...isolation.warm_process import WarmProcess
from ...sources.submission import Submission
from ...testing.warm_session import WarmSession
from ...views.summary import Results, group, left_out

# Without fork a check runs in this process, where an endless loop is not ended.
CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
PATIENCE = 3.0  # seconds that a file may take to load, or one call to come back


class WatchMaker(AttemptMaker):
    """A maker whose learner code runs in forked children, so that an endless loop is ended."""

    def backend(self, submission: Submission) -> Backend:
        """A fresh child of the warm process for every check. Public cases need no sandbox."""
        if not CAN_FORK:
            return InProcess(submission)
        if self.warm is None or not self.warm.alive():
            self.warm = WarmProcess(self.limits)
        return InChild(submission, self.warm, self.limits, requests=self.requests)

    @property
    def limits(self) -> Limits:
        """The course's limits, but for the time: somebody is waiting."""
        return replace(self.course.limits, load_seconds=PATIENCE, case_seconds=PATIENCE)


class Checker:
    """The tests of a folder, kept warm; `folder` holds the learner's files."""

    def __init__(self, tests: Path, folder: Path):
        torch.set_num_threads(1)
        self.maker, self.folder = WatchMaker(Setup(tests)), folder
        self.course = self.maker.course
        self.session = WarmSession(tests)
        self.left_out: dict[str, list[str]] = {}  # by chapter: what of its file could not be run

    def path(self, chapter: str) -> Path:
        """The learner's file of a chapter."""
        return self.folder / f"{chapter}.py"

    def check(self, chapter: str) -> tuple[Results, float]:
        """(checks by exercise, seconds that they took) for a chapter's file as it is now."""
        began = time.perf_counter()
        attempt = self.maker.attempt(chapter, self.path(chapter))
        try:
            results = group(self.session.results(attempt))
            self.left_out[chapter] = left_out(attempt)
        finally:
            attempt.backend.close()
        return results, time.perf_counter() - began

    def close(self) -> None:
        """End the session and the warm process."""
        self.session.close()
        self.maker.close()
