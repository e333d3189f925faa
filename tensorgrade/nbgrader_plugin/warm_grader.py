"""One grading process that stays warm from one submission to the next.

It lives in a process of its own because nbgrader may run inside a Jupyter server, which is no
place for pytest and torch (they are imported over there alone), and because a submission that ends
it costs nobody else anything.
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
from ..instructor.dependencies import digest_of, graders_files
from ..processes import side_by_side
from ..runner.source import Unreadable
from ..sources.handins import Handin

TRIES = 2
Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
WARM: dict[tuple, Executor] = {}


def grade(handin: Handin, setup: Setup) -> list[dict]:
    """Rows with the verdicts on a hand-in."""
    rows = answer(setup, grade_there, handin)
    return given_up(handin, setup.tests) if rows is None else rows


@dataclass(frozen=True)
class ReadApart:
    """Reads learners' files in the sandbox of the warm process. Methods raise CourseError."""

    setup: Setup

    def name_of_source(self, handin: Handin) -> str:
        """The name of the file that counts; empty where none can be read."""
        return answer(self.setup, name_there, handin) or ""

    def parts(self, text: str) -> list[tuple[list[str], str]]:
        """The top-level statements of a script; none where it cannot be read."""
        return answer(self.setup, parts_there, text) or []


def answer(setup: Setup, ask: Callable[[Asked], Answer], about: Asked) -> Answer | None:
    """What a function answers over there; None where each try ends the process.

    Graders that changed on disk are read anew.
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
    """The digest of the graders as they are; their files are only read again if one was written."""
    files = [*graders_files(graders).values(), graders.parent / "course_config.py"]
    return digest(
        graders, tuple((path, path.stat().st_mtime_ns) for path in files if path.is_file())
    )


@functools.lru_cache(maxsize=4)
def digest(graders: Path, written: tuple) -> str:
    """The digest of the graders, when their files were last written at these times."""
    return digest_of(graders)


@contextmanager
def bare_main() -> Iterator[None]:
    """New processes begin by importing the main module anew; spare them nbgrader or a server."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def warm(key: tuple) -> Executor:
    """The process for these graders; one for other graders is ended."""
    if key not in WARM:
        for old in list(WARM):
            forget(old)
        setup, _ = key
        WARM[key] = side_by_side(1, start_there, setup)
    return WARM[key]


def forget(key: tuple) -> None:
    """End a process."""
    WARM.pop(key).shutdown(wait=False)


def start_there(setup: Setup) -> None:
    """In the process: make it ready."""
    from ..instructor import grader

    grader.start(setup)


def grade_there(handin: Handin) -> list[dict]:
    """In the process: the verdicts on a hand-in, as rows of `results.jsonl`."""
    from ..instructor import grader

    return [verdict.row() for verdict in grader.grade(handin)]


def name_there(handin: Handin) -> str:
    """In the process: the name of the file that counts; empty where none can be read."""
    from ..instructor import grader

    try:
        return grader.ready_grader().maker.source_of(handin).filename
    except Unreadable:
        return ""


def parts_there(text: str) -> list[tuple[list[str], str]]:
    """In the process: the top-level statements of a script; none where it cannot be read."""
    from ..instructor import grader

    try:
        return grader.ready_grader().maker.reader().parts(text)
    except Unreadable:
        return []


def given_up(handin: Handin, graders: Path) -> list[dict]:
    """Rows for what ended its process again and again."""
    from ..attempts.verdict import Status
    from ..instructor.grader import ENDED_ITS_WORKER, set_aside

    aside = set_aside(handin, load_course(graders), Status.KILLED, ENDED_ITS_WORKER)
    return [verdict.row() for verdict in aside]
