"""A grading process that stays warm from one submission to the next.

It is a separate process for two reasons. nbgrader may run inside a Jupyter server, which should
not import pytest and torch. And a submission that kills the process affects no other submission.
"""

import functools
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..attempts.setup import Setup
from ..course_sources import load_course
from ..instructor.dependencies import digest_of, graders_files, right_answers
from ..processes import side_by_side
from ..runner.source import Unreadable
from ..sources.submitted_files import SubmittedFiles

TRIES = 2
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
WARM: dict[tuple, Executor] = {}


def grade(submitted_files: SubmittedFiles, setup: Setup) -> list[dict]:
    """Return rows with the verdicts on a submission."""
    rows = answer(setup, grade_there, submitted_files)
    return given_up(submitted_files, setup.tests) if rows is None else rows


@dataclass(frozen=True)
class ReadApart:
    """A reader that parses learners' files in the sandbox of the warm process.

    Its methods raise CourseError.
    """

    setup: Setup

    def name_of_source(self, submitted_files: SubmittedFiles) -> str:
        """Return the name of the file that counts; an empty one if none can be read."""
        return answer(self.setup, name_there, submitted_files) or ""

    def parts(self, text: str) -> list[tuple[list[str], str]]:
        """Return the top-level statements of a script; none if it cannot be read."""
        return answer(self.setup, parts_there, text) or []


def answer(setup: Setup, ask: Callable[[Asked], Answer], about: Asked) -> Answer | None:
    """Call a function in the warm process; return None if every try kills the process.

    A new process is started if the graders have changed on disk.
    """
    key = (setup, digest_now(setup.tests))
    for _ in range(TRIES):
        try:
            with bare_main():
                answered = warm(key).submit(ask, about)
            return answered.result()
        except BrokenProcessPool:
            forget(key)
    return None


def digest_now(graders: Path) -> str:
    """Return the current digest of the graders; the files are read again only after a change."""
    read = graders_files(graders) | right_answers(graders)
    files = [*read.values(), graders.parent / "course_config.py"]
    return digest(
        graders, tuple((path, path.stat().st_mtime_ns) for path in files if path.is_file())
    )


@functools.lru_cache(maxsize=4)
def digest(graders: Path, written: tuple) -> str:
    """Return the digest of the graders whose files were written at these times."""
    return digest_of(graders)


@contextmanager
def bare_main() -> Iterator[None]:
    """Hide the main module, so that new processes do not import nbgrader or a server again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def warm(key: tuple) -> Executor:
    """Return the process for a setup and a digest of the graders; stop any other one."""
    if key not in WARM:
        for old in list(WARM):
            forget(old)
        setup, _ = key
        WARM[key] = side_by_side(1, start_there, setup)
    return WARM[key]


def forget(key: tuple) -> None:
    """Stop a process."""
    WARM.pop(key).shutdown(wait=False)


def start_there(setup: Setup) -> None:
    """Prepare the grader, in the warm process."""
    from ..instructor import grader

    grader.start(setup)


def grade_there(submitted_files: SubmittedFiles) -> list[dict]:
    """Grade a submission in the warm process; return rows of `results.jsonl`."""
    from ..instructor import grader

    return [verdict.row() for verdict in grader.grade(submitted_files)]


def name_there(submitted_files: SubmittedFiles) -> str:
    """Return the name of the file that counts, in the warm process; empty if none can be read."""
    from ..instructor import grader

    try:
        return grader.ready_grader().maker.source_of(submitted_files).filename
    except Unreadable:
        return ""


def parts_there(text: str) -> list[tuple[list[str], str]]:
    """Return a script's top-level statements, in the warm process; none if it cannot be read."""
    from ..instructor import grader

    try:
        return grader.ready_grader().maker.reader().parts(text)
    except Unreadable:
        return []


def given_up(submitted_files: SubmittedFiles, graders: Path) -> list[dict]:
    """Return rows for a submission that killed its process on every try."""
    from ..attempts.verdict import Status
    from ..instructor.grader import set_aside
    from ..messages.not_graded import WorkerEnded

    aside = set_aside(submitted_files, load_course(graders), Status.KILLED, WorkerEnded())
    return [verdict.row() for verdict in aside]
