"""A grading process that stays warm from one submission to the next.

nbgrader may run inside a Jupyter server, which should not import torch. And a submission that ends
the process costs no other submission anything.
"""

import sys
import types
from collections.abc import Iterator
from concurrent.futures import Executor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from ..attempts.setup import Setup
from ..course import CourseError
from ..processes import side_by_side
from ..project import load_course
from ..sources.submitted_files import SubmittedFiles

TRIES = 2
GRADERS = (".py", ".json", ".safetensors")  # what graders consist of
WARM: dict[tuple, Executor] = {}  # the one process, by its setup and the age of the graders


def grade(submitted_files: SubmittedFiles, setup: Setup) -> list[dict]:
    """Return rows with the verdicts on a submission, from the warm process.

    Raises CourseError if this machine cannot grade the submission, or if grading it ends the
    process on every try.
    """
    key = (setup, newest(setup.tests))
    for _ in range(TRIES):
        try:
            with bare_main():
                graded = warm(key).submit(grade_there, setup, submitted_files)
            return graded.result()
        except BrokenProcessPool:
            forget()
        except CourseError:
            forget()  # the next submission may have more memory
            raise
    raise CourseError(f"{submitted_files.chapter}: grading this file ended the grading process")


def newest(graders: Path) -> int:
    """Return the time at which the newest file of the graders was written, in nanoseconds."""
    files = [one for one in graders.rglob("*") if one.suffix in GRADERS]
    return max(one.stat().st_mtime_ns for one in [graders.parent / "course_config.py", *files])


def warm(key: tuple) -> Executor:
    """Return the process for a setup and graders; start it if they are not those of the last."""
    if key not in WARM:
        forget()
        WARM[key] = side_by_side(1)
    return WARM[key]


def forget() -> None:
    """Stop the process, if there is one."""
    while WARM:
        WARM.popitem()[1].shutdown(wait=False)


@contextmanager
def bare_main() -> Iterator[None]:
    """Hide the main module, so that the new process does not import nbgrader or a server again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def grade_there(setup: Setup, submitted_files: SubmittedFiles) -> list[dict]:
    """Grade a submission in the warm process; return rows of `results.jsonl`.

    Raises CourseError if this machine cannot, or if the chapter changed since the last build, or
    whatever error the graders have on this file.
    """
    from ..built import refuse_unbuilt
    from ..instructor import grader

    refuse_unbuilt(setup.tests, load_course(setup.tests), [submitted_files.chapter])
    try:
        return [verdict.row() for verdict in grader.grader_for(setup).grade(submitted_files)]
    finally:
        grader.forget()
