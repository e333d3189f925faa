"""Give submissions to workers, and make sure that each comes back, even if workers die.

Workers are processes of this machine or, in cluster.py, of a dask scheduler. If a worker dies, its
submissions are lost, and the one that caused this is unknown. So each of them is graded again
alone. A submission that ends its worker again is set aside. If only the process that runs
learners' code dies, `grader.py` starts another one. For nbgrader, `nbgrader_plugin/warm_grader.py`
retries.
"""

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from contextlib import contextmanager
from math import ceil
from typing import Protocol, Self

from ..attempts.setup import Setup
from ..attempts.verdict import Status, Verdict
from ..course import Course
from ..messages.not_graded import WorkerEnded
from ..processes import side_by_side
from ..sources.submitted_files import SubmittedFiles
from . import grader
from .grader import set_aside


class Workers(Protocol):
    """A group of workers, used as a context.

    lost: the errors of a future whose worker died. ahead: the number of submissions to give out at
    once.
    """

    @property
    def lost(self) -> tuple[type[BaseException], ...]: ...

    @property
    def ahead(self) -> int: ...

    def check_in(self) -> dict[str, int]:
        """Return the number of workers on each isolation level."""

    def submit(self, submitted_files: SubmittedFiles) -> Future[list[Verdict]]:
        """Send one submission to a worker."""

    def replace(self, running: set[Future]) -> set[Future]:
        """Replace lost workers, and return the futures that ended with them."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


def pool(workers: int, setup: Setup) -> Executor:
    """Return a pool of processes that have imported torch, each with its own grader."""
    return side_by_side(workers, grader.start, setup, warm=True)


class LocalWorkers:
    """A pool of processes that is replaced when one of them dies."""

    lost = (BrokenExecutor,)

    def __init__(self, count: int, setup: Setup):
        self.count, self.setup = count, setup
        self.executor = pool(count, setup)
        # One submission in work and one waiting for each worker, so that no worker waits for the
        # ledger.
        self.ahead = 2 * count

    def check_in(self) -> dict[str, int]:
        """Return the number of workers on each isolation level. Raises NotReady.

        Each submitted call starts one more process, so that they all start at the same time.
        """
        with not_interrupted():
            all_levels = [self.executor.submit(grader.check_in) for _ in range(self.count)]
        return dict(Counter(level.result() for level in all_levels))

    def submit(self, submitted_files: SubmittedFiles) -> Future[list[Verdict]]:
        """Send one submission to a worker. Raises one of `lost`."""
        with not_interrupted():
            return self.executor.submit(grader.grade, submitted_files)

    def replace(self, running: set[Future]) -> set[Future]:
        """Start new processes after a loss, and return the futures that ended with the old ones."""
        wait(running)
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = pool(self.count, self.setup)
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.executor.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:  # interrupted: submissions in work are graded again in the next run
            for process in multiprocessing.active_children():
                process.terminate()


@contextmanager
def not_interrupted() -> Iterator[None]:
    """Hide Ctrl-C from processes that start in this context: only the run itself reacts to it."""
    if not hasattr(signal, "pthread_sigmask"):  # missing on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


SUBMISSIONS_PER_WORKER = 4  # they are graded in less time than one more worker needs to start


def default_count(submissions: int, jobs: int) -> int:
    """Return the number of processes for some submissions: one per available core, or `jobs`."""
    if jobs:
        return min(jobs, max(1, submissions))
    ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    return min(len(ours(0)), max(1, ceil(submissions / SUBMISSIONS_PER_WORKER)))


Graded = tuple[SubmittedFiles, list[Verdict]]


def graded(todo: list[SubmittedFiles], workers: Workers, course: Course) -> Iterator[list[Graded]]:
    """Yield verdicts on each submission exactly once, in batches as they arrive."""
    suspects: list[SubmittedFiles] = []
    yield from flow(todo, workers, workers.ahead, suspects)
    for submitted_files in suspects:
        guilty: list[SubmittedFiles] = []
        yield from flow([submitted_files], workers, 1, guilty)
        if guilty:
            yield [
                (submitted_files, set_aside(submitted_files, course, Status.KILLED, WorkerEnded()))
            ]


def flow(
    todo: list[SubmittedFiles], workers: Workers, ahead: int, lost: list[SubmittedFiles]
) -> Iterator[list[Graded]]:
    """Yield verdicts in batches, with at most `ahead` submissions at the workers.

    Submissions that came back from no worker, because it died, are added to `lost`.
    """
    waiting = deque(todo)
    running: dict[Future[list[Verdict]], SubmittedFiles] = {}
    while waiting or running:
        while waiting and len(running) < ahead:
            submitted_files = waiting.popleft()
            running[submitted(submitted_files, workers)] = submitted_files
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(isinstance(future.exception(), workers.lost) for future in done):
            done = done | workers.replace(set(running) - done)
        finished = {running.pop(future): future for future in done}
        back = {h: f for h, f in finished.items() if not isinstance(f.exception(), workers.lost)}
        lost += [submitted_files for submitted_files in finished if submitted_files not in back]
        if back:
            yield [(submitted_files, future.result()) for submitted_files, future in back.items()]


def submitted(submitted_files: SubmittedFiles, workers: Workers) -> Future[list[Verdict]]:
    """Return the future of one submission; an already failed one if the workers are dying."""
    try:
        return workers.submit(submitted_files)
    except workers.lost as error:
        failed: Future[list[Verdict]] = Future()
        failed.set_exception(error)
        return failed
