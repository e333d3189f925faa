"""A grading process that stays warm from one submission to the next.

It is a separate process for two reasons. nbgrader may run inside a Jupyter server, which should
not import pytest and torch. And a submission that kills the process affects no other submission.
"""

import functools
import sys
import types
from collections.abc import Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from ..attempts.setup import Setup
from ..course import CourseError
from ..course_sources import load_course
from ..instructor.dependencies import digest_of, graders_files
from ..processes import side_by_side
from ..sources.submitted_files import SubmittedFiles

TRIES = 2
WARM: dict[tuple, Executor] = {}


def grade(submitted_files: SubmittedFiles, setup: Setup) -> list[dict]:
    """Return rows with the verdicts on a submission, from the warm process.

    A new process is started if the graders have changed on disk. Raises CourseError if this machine
    cannot grade the submission, or if grading it ends the process on every try.
    """
    key = (setup, digest_now(setup.tests))
    for _ in range(TRIES):
        try:
            with bare_main():
                graded = warm(key).submit(grade_there, submitted_files)
            return graded.result()
        except BrokenProcessPool:
            forget(key)
        except CourseError:
            forget(key)  # the next submission may have more memory
            raise
    raise CourseError(f"{submitted_files.chapter}: grading this file ended the grading process")


def digest_now(graders: Path) -> str:
    """Return the current digest of the graders; the files are read again only after a change."""
    read = graders_files(graders)
    files = [*read.values(), graders.parent / "course_config.py"]
    return digest(
        graders, tuple((path, path.stat().st_mtime_ns) for path in files if path.is_file())
    )


@functools.lru_cache(maxsize=4)
def digest(graders: Path, written: tuple) -> str:
    """Return the digest of the graders whose files were written at these times."""
    return digest_of(graders, load_course(graders))


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
    """Grade a submission in the warm process; return rows of `results.jsonl`.

    Raises NotGraded if this machine cannot, CourseError if the chapter changed since the last
    build, or whatever error the graders have on this file.
    """
    from ..author.recording.keys import refuse_unbuilt
    from ..instructor import grader

    refuse_unbuilt(grader.ready_grader().maker.tests, [submitted_files.chapter])
    try:
        return [verdict.row() for verdict in grader.ready_grader().grade(submitted_files)]
    finally:
        grader.forget()
