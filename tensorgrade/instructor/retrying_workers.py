"""Give submissions to workers, and make sure that each comes back, even if workers die.

Workers are processes of this machine or, in cluster.py, of a dask scheduler. If a worker dies, its
submissions are lost, and the one that caused this is unknown. If a process that runs learner code
ends or stops answering, the machine may be at fault. So each of these submissions is graded once
more, alone, after all others. What fails again is the learner's if a right answer passes at that
moment (`Grader.last_try`); otherwise it is not graded. For nbgrader,
`nbgrader_plugin/warm_grader.py` retries.
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
from ..attempts.verdict import WORKER_ENDED, Status, Verdict
from ..course import Course
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
        """Return the number of workers by kind of isolation."""

    def submit(self, submitted_files: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker. last: as in `grader.grade_with`."""

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
        """Return the number of workers by kind of isolation. Raises NotReady.

        Each submitted call starts one more process, so that they all start at the same time.
        """
        with not_interrupted():
            kinds = [self.executor.submit(grader.check_in) for _ in range(self.count)]
        return dict(Counter(kind.result() for kind in kinds))

    def submit(self, submitted_files: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker. Raises one of `lost`."""
        with not_interrupted():
            return self.executor.submit(grader.grade, submitted_files, last)

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


Graded = tuple[SubmittedFiles, list[Verdict] | None]


def graded(todo: list[SubmittedFiles], workers: Workers, course: Course) -> Iterator[list[Graded]]:
    """Yield each submission exactly once with its verdicts, in batches as they arrive.

    None instead of the verdicts: this machine could not grade it.
    """
    again: list[SubmittedFiles] = []
    yield from flow(todo, workers, workers.ahead, again)
    for submitted_files in again:
        guilty: list[SubmittedFiles] = []
        yield from flow([submitted_files], workers, 1, guilty, last=True)
        if guilty:
            yield [
                (submitted_files, set_aside(submitted_files, course, Status.KILLED, WORKER_ENDED))
            ]


def flow(
    todo: list[SubmittedFiles],
    workers: Workers,
    ahead: int,
    again: list[SubmittedFiles],
    last: bool = False,
) -> Iterator[list[Graded]]:
    """Yield verdicts in batches, with at most `ahead` submissions at the workers.

    Submissions that came back from no worker, because it died, are added to `again`; those that
    need another try too, if this is not the last one.
    """
    waiting = deque(todo)
    running: dict[Future[list[Verdict] | None], SubmittedFiles] = {}
    while waiting or running:
        while waiting and len(running) < ahead:
            submitted_files = waiting.popleft()
            running[submitted(submitted_files, workers, last)] = submitted_files
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(isinstance(future.exception(), workers.lost) for future in done):
            done = done | workers.replace(set(running) - done)
        finished = {running.pop(future): future for future in done}
        back = {h: f for h, f in finished.items() if not isinstance(f.exception(), workers.lost)}
        tried = {submitted_files: future.result() for submitted_files, future in back.items()}
        settled = {files: v for files, v in tried.items() if last or v is not None}
        again += [files for files in finished if files not in settled]
        if settled:
            yield [*settled.items()]


def submitted(
    submitted_files: SubmittedFiles, workers: Workers, last: bool
) -> Future[list[Verdict] | None]:
    """Return the future of one submission; an already failed one if the workers are dying."""
    try:
        return workers.submit(submitted_files, last)
    except workers.lost as error:
        failed: Future[list[Verdict] | None] = Future()
        failed.set_exception(error)
        return failed
