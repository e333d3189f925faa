"""Check a learner's chapters again and again in one session, without restarting anything.

Learner code runs in another process. That process is killed if the code does not return.
"""

from dataclasses import replace
from pathlib import Path

import torch

from ..attempts.attempt import Attempt
from ..attempts.maker import AttemptMaker
from ..attempts.results import Results
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..history import remember
from ..runner.source import Source
from ..sources.submitted_files import SubmittedFiles
from ..views.summary import left_out
from .kit import Kit

PATIENCE = 3.0  # time limit in seconds for loading a file, and for each call
TICK = 0.1  # seconds between two looks at the files


class Checker:
    """The checks of a kit, kept in memory."""

    def __init__(self, kit: Kit):
        torch.set_num_threads(1)
        self.maker, self.kit = AttemptMaker(Setup(kit.exercises)), kit
        limits = self.maker.course.limits
        limits = replace(limits, load_seconds=PATIENCE, case_seconds=PATIENCE)
        self.course = self.maker.course = replace(self.maker.course, limits=limits)
        self.saved: dict[str, tuple[int, int] | None] = {}  # by chapter: the file last checked
        self.left_out: dict[str, list[str]] = {}  # by chapter: notes on code that cannot run

    def changed(self) -> list[str]:
        """Return the chapters whose script was saved since its last check; at first all."""
        names = (chapter.name for chapter in self.course.chapters)
        return [n for n in names if stamp(self.kit.path(n)) not in (None, self.saved.get(n))]

    def check(self, chapter: str) -> Results:
        """Return the checks on a chapter's script."""
        path = self.kit.path(chapter)
        self.saved[chapter] = stamp(path)
        results = self.results_of(self.maker.attempt(chapter, path))
        remember(self.course, self.kit.exercises, self.kit.scripts, results)
        return results

    def check_changed(self) -> Results:
        """Return the checks on all scripts that were saved since their last check."""
        found = Results()
        for chapter in self.changed():
            found |= self.check(chapter)
        return found

    def check_file(self, chapter: str, source: Source | SubmittedFiles, *names: str) -> Results:
        """Return the checks on another text or file, of these exercises (default: all)."""
        return self.results_of(self.maker.attempt_from_source(chapter, source), *names)

    def results_of(self, attempt: Attempt, *names: str) -> Results:
        """Return the checks on an attempt, and keep the notes on code in it that cannot run."""
        try:
            results = results_on(attempt, *names)
            self.left_out[attempt.chapter.name] = left_out(attempt)
            return results
        finally:
            attempt.lab.close()

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes."""
        self.maker.close()


def stamp(path: Path) -> tuple[int, int] | None:
    """Return the time of a file's last change and its size; None if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
