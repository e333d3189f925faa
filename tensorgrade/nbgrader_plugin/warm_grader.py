"""One grading process that stays warm from one submission to the next.

It lives in a process of its own because nbgrader may run inside a Jupyter server, which is no
place for pytest and torch, and because a submission that ends it costs nobody else anything.
"""

import functools
import multiprocessing
import sys
import types
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from ..grading.material import digest_of, material
from . import grading_process

TRIES = 2
WARM: dict[tuple, Executor] = {}


def grade(handed_in: tuple, graders: Path, isolation: str, device: str) -> list[dict]:
    """Rows with the verdicts on (student, chapter, file name, content).

    Graders that changed on disk are read anew.
    """
    key = (graders, digest_now(graders), isolation, device)
    for _ in range(TRIES):
        try:
            with bare_main():
                rows = warm(key).submit(grading_process.grade, handed_in)
            return rows.result()
        except BrokenProcessPool:
            forget(key)
    return grading_process.given_up(handed_in, graders)


def digest_now(graders: Path) -> str:
    """The digest of the graders as they are; their files are only read again if one was written."""
    files = [*material(graders).values(), graders.parent / "course_config.py"]
    return digest(
        graders, tuple((path, path.stat().st_mtime_ns) for path in files if path.is_file())
    )


@functools.lru_cache(maxsize=4)
def digest(graders: Path, written: tuple) -> str:
    """The digest of the graders, when their files were last written at these times."""
    return digest_of(graders)


@contextmanager
def bare_main():
    """New processes begin by importing the main module anew; spare them nbgrader or a whole server."""
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
        graders, _, isolation, device = key
        spawn = multiprocessing.get_context("spawn")
        arguments = str(graders), isolation, device
        WARM[key] = ProcessPoolExecutor(1, spawn, grading_process.start, arguments)
    return WARM[key]


def forget(key: tuple) -> None:
    """End a process."""
    WARM.pop(key).shutdown(wait=False)
