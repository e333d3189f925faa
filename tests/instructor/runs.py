"""Runs of `tensorgrade grade` that are begun, looked at while they work, and ended.

And runs in this very process, for tests of what happens around the grading.
"""

import os
import time
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Status, Verdict
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.results_folder import lines_of
from tensorgrade.instructor.store import NAME, Store

from ..commands import ROOT, Begun


def begin(submitted: Path, out: Path, *options: str) -> Begun:
    """A run in a process group of its own."""
    told = ("--out", out, "--isolation", "none", *options)
    return Begun("tensorgrade.cli", "grade", submitted, *told)


def end_of(process: Begun) -> str:
    """Wait for a run; returns what it said."""
    said, _ = process.communicate(timeout=400)
    assert process.returncode == 0, said
    return said


def wait_for(out: Path, submissions: int, process: Begun) -> None:
    """Until so many hand-ins are in the ledger. The run must still be at work then."""
    while len(graded_in(out)) < submissions:
        assert process.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.01)


def graded_in(out: Path) -> list[tuple[str, str]]:
    """Return the learners and chapters that are graded so far, in the order of grading."""
    if not (out / NAME).exists():
        return []
    own = [attempts[-1] for attempts in Store(out).attempts().values()]
    return [(one.student, one.chapter) for one in sorted(own, key=lambda one: one.number)]


def put_rows(out: Path, rows: list[dict]) -> None:
    """Make a folder hold these rows and no others, as an earlier version left them."""
    (out / NAME).unlink(missing_ok=True)
    (out / "results.jsonl").write_bytes(lines_of(rows))


class Silent:
    """A progress that shows nothing; notes are kept."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        self.notes, self.left = notes, left

    def __getattr__(self, name: str):
        return lambda *arguments: None


class ByContent:
    """Gives the share of the points that a file's first word says: `0.5` is half of each."""

    lost, ahead = (), 1
    found: ClassVar[dict[str, float]] = {}  # what other graders find, by learner

    def __init__(self, course):
        self.course = course

    def check_in(self) -> dict[str, int]:
        return {"none": 1}

    def submit(self, submitted_files) -> Future:
        done: Future = Future()
        share = (
            float((submitted_files.content.split() or [b"0"])[0])
            if not submitted_files.reason
            else 0.0
        )
        share = self.found.get(submitted_files.student, share)
        status = {0.0: Status.FAILED, 1.0: Status.PASSED}.get(share, Status.PARTIAL)
        status = Status.NOT_ATTEMPTED if submitted_files.missing else status
        exercises = self.course.chapter(submitted_files.chapter).exercises
        about = submitted_files.student, submitted_files.chapter
        done.set_result(
            [Verdict(*about, e.name, e.points * share, e.points, status) for e in exercises]
        )
        return done


def grade_by_content(monkeypatch, submitted: Path, out: Path, lateness=None, **options):
    """`tensorgrade grade` with `ByContent` for workers; returns rows and notes."""
    course = load_course(ROOT / "graders")
    if lateness is not None:
        object.__setattr__(course, "lateness", lateness)
    monkeypatch.setattr(running, "load_course", lambda folder: course)
    monkeypatch.setattr(running, "workers_for", lambda *_: nullcontext(ByContent(course)))
    told = Silent()
    run = running.Run(Setup(ROOT / "graders", "none"), **options)
    return running.grade_class(submitted, out, run, told), told.notes


def put(submitted: Path, student: str, chapter: str, share: float, at: int = 0, text="") -> Path:
    """A file of a learner's that `ByContent` understands. at: when it was written, in seconds."""
    path = submitted / student / chapter / f"{chapter}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{share} {text}")
    os.utime(path, (at or 1_800_000_000,) * 2)
    return path
