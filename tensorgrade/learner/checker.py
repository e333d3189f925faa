"""Check a learner's chapters again and again in one session, without restarting anything.

Learner code runs in another process. That process is killed if the code does not return.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ..attempts.attempt import Attempt
from ..attempts.lab import Lab
from ..attempts.maker import AttemptMaker
from ..attempts.results import CheckResult, Results, State, state_of
from ..attempts.scoring import results_on
from ..attempts.setup import Setup
from ..course import Limits
from ..history import remember
from ..runner.facts import spans
from ..runner.source import Source
from ..sandbox.own_code import fork_server
from ..sandbox.processes import ForkServer
from ..sources.submitted_files import SubmittedFiles
from ..views.summary import left_out

PATIENCE = 3.0  # time limit in seconds for loading a file, and for each call


class OwnMaker(AttemptMaker):
    """A maker that runs learner code in a separate process, so that it can stop endless loops."""

    def lab(self, chapter: str) -> Lab:
        """Return a lab without a sandbox, because public cases need none."""
        return Lab(self.warm_up(), self.limits, own=True)

    def warm_up(self) -> ForkServer:
        """Return the process that runs learner code or forks children for it. Raises NotStarted."""
        if self.warm is None:
            self.warm = fork_server(self.limits)
        return self.warm

    @property
    def limits(self) -> Limits:
        """Return the course's limits with shorter times, because the learner is waiting."""
        return replace(self.course.limits, load_seconds=PATIENCE, case_seconds=PATIENCE)


@dataclass(frozen=True)
class Passed:
    """The checks on an exercise that is done. They stand until the code that it uses changes.

    unused: the exercises that it does not use. code: the file without them.
    """

    checks: list[CheckResult]
    unused: frozenset[str]
    code: str


def without(text: str, names: frozenset[str]) -> str:
    """Return a text without the definitions of these names.

    >>> without("import torch\\ndef f(): pass\\nx = 1", frozenset("f"))
    'import torch\\nx = 1'
    """
    lines = text.split("\n")
    for found, first, last in reversed(spans(text)):
        if found and names.issuperset(found):
            del lines[first - 1 : last]
    return "\n".join(lines)


class Checker:
    """The checks of a course, kept in memory. tests: their folder. folder: the learner's files."""

    def __init__(self, tests: Path, folder: Path):
        torch.set_num_threads(1)
        self.maker, self.folder = OwnMaker(Setup(tests)), folder
        self.course = self.maker.course
        self.maker.warm_up()  # before this process has threads, which make forking unsafe
        self.saved: dict[str, tuple[int, int] | None] = {}  # by chapter: the file last checked
        self.passed: dict[str, dict[str, Passed]] = {}  # by chapter and exercise
        self.left_out: dict[str, list[str]] = {}  # by chapter: notes on code that cannot run

    def path(self, chapter: str) -> Path:
        """Return the path of the learner's script for a chapter."""
        return self.folder / f"{chapter}.py"

    def changed(self) -> list[str]:
        """Return the chapters whose script was saved since its last check; at first all."""
        names = (chapter.name for chapter in self.course.chapters)
        return [n for n in names if stamp(self.path(n)) not in (None, self.saved.get(n))]

    def check(self, chapter: str) -> Results:
        """Return the checks on a chapter's script. Results that no change can affect are reused."""
        self.saved[chapter] = stamp(self.path(chapter))
        attempt = self.maker.attempt(chapter, self.path(chapter))
        text = attempt.source.text
        passed = self.passed.get(chapter, {}).items()
        known = {n: one for n, one in passed if without(text, one.unused) == one.code}
        left = [name for name in attempt.exercises if name not in known]
        try:
            # At least one exercise runs: the file may fail to load by now.
            found = results_on(attempt, *(left or list(attempt.exercises)[:1]))
            self.left_out[chapter] = left_out(attempt)
        finally:
            attempt.lab.close()
        for name, checks in found.items():
            known.pop(name, None)
            if state_of(checks) == State.DONE:
                unused = unused_by(attempt, name)
                known[name] = Passed(checks, unused, without(text, unused))
        self.passed[chapter] = known
        results = {n: found.get(n) or known[n].checks for n in attempt.exercises}
        remember(self.maker.tests, self.folder, results)
        return results

    def check_all(self) -> Results:
        """Return the checks on all chapters that have a script."""
        found = Results()
        for chapter in self.course.chapters:
            if self.path(chapter.name).exists():
                found |= self.check(chapter.name)
        return found

    def check_file(self, chapter: str, source: Source | SubmittedFiles, *names: str) -> Results:
        """Return the checks on another text or file, of these exercises (default: all)."""
        attempt = self.maker.attempt_from_source(chapter, source)
        try:
            return results_on(attempt, *names)
        finally:
            attempt.lab.close()

    def __enter__(self) -> "Checker":
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes."""
        self.maker.close()


def unused_by(attempt: Attempt, name: str) -> frozenset[str]:
    """Return the other exercises that neither an exercise nor its cases use."""
    asked = {name, *attempt.references.asked_by_name(name)}
    used = asked.union(*(attempt.loaded.calls.get(one, ()) for one in asked))
    return frozenset(attempt.exercises) - used


def stamp(path: Path) -> tuple[int, int] | None:
    """Return the time of a file's last change and its size; None if it is missing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
