"""Give submissions to workers, and make sure that each comes back, even if workers die.

If a worker dies, the submissions that it and the others held are lost, and the one that caused this
is unknown. If a process that runs learner code ends, the machine may be at fault. So each of these
submissions is graded once more, alone, after all others. What fails again is the learner's if a
right answer passes at that moment (grader.py); otherwise it is not graded.
"""

import multiprocessing
import os
import signal
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import contextmanager
from math import ceil
from typing import Self

from ..attempts.setup import Setup
from ..attempts.verdict import WORKER_ENDED, Status, Verdict
from ..course import Course
from ..processes import Pool, side_by_side
from ..sources.submitted_files import SubmittedFiles
from . import grader
from .grader import set_aside

SUBMISSIONS_PER_WORKER = 4  # they are graded in less time than one more worker needs to start


class Workers:
    """Worker processes on this machine, used as a context; cluster.py has the same methods.

    lost: the errors of a future whose worker died. ahead: the number of submissions to give out at
    once: one in work and one waiting for each worker.
    """

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)

    def __init__(self, count: int, setup: Setup):
        self.count, self.setup, self.ahead = count, setup, 2 * count
        self.pool = self.new_pool()

    def new_pool(self) -> Pool:
        """Return processes that share what is imported here, each with its own grader."""
        return side_by_side(self.count, grader.start, self.setup, warm=True)

    def check_in(self) -> dict[str, int]:
        """Return the number of workers by kind of isolation. Raises NotReady.

        Each submitted call starts one more process, so that they all start at the same time.
        """
        with not_interrupted():
            kinds = [self.pool.submit(grader.check_in) for _ in range(self.count)]
        return dict(Counter(kind.result() for kind in kinds))

    def submit(self, one: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker. last: as in `grade_with`. Raises one of `lost`."""
        with not_interrupted():
            return self.pool.submit(grader.grade, one, last)

    def replace(self, running: set[Future]) -> set[Future]:
        """Start new processes after a loss, and return the futures that ended with the old ones."""
        wait(running)
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool = self.new_pool()
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.shutdown(wait=kind is None, cancel_futures=True)
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


def default_count(submissions: int, jobs: int) -> int:
    """Return the number of processes for some submissions: one per available core, or `jobs`."""
    if jobs:
        return min(jobs, max(1, submissions))
    ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    return min(len(ours(0)), max(1, ceil(submissions / SUBMISSIONS_PER_WORKER)))


Graded = tuple[SubmittedFiles, list[Verdict] | None]


def graded(todo: list[SubmittedFiles], workers: Workers, course: Course) -> Iterator[Graded]:
    """Yield each submission exactly once with its verdicts.

    None instead of the verdicts: this machine could not grade it.
    """
    again: list[SubmittedFiles] = []
    yield from flow(todo, workers, workers.ahead, again)
    for one in again:
        guilty: list[SubmittedFiles] = []
        yield from flow([one], workers, 1, guilty, last=True)
        if guilty:
            yield one, set_aside(one, course, Status.KILLED, WORKER_ENDED)


def flow(
    todo: list[SubmittedFiles],
    workers: Workers,
    ahead: int,
    again: list[SubmittedFiles],
    last: bool = False,
) -> Iterator[Graded]:
    """Yield verdicts as they arrive, with at most `ahead` submissions at the workers.

    Submissions whose worker died are added to `again`; those that need another try too, if this is
    not the last one.
    """
    left = deque(todo)
    running: dict[Future[list[Verdict] | None], SubmittedFiles] = {}
    while left or running:
        try:
            while left and len(running) < ahead:
                running[workers.submit(left[0], last)] = left[0]
                left.popleft()
        except workers.lost:  # these workers died before they got the next submission
            again += [running.pop(future) for future in workers.replace(set(running))]
            continue
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(isinstance(future.exception(), workers.lost) for future in done):
            done = done | workers.replace(set(running) - done)
        for future in done:
            one = running.pop(future)
            is_lost = isinstance(future.exception(), workers.lost)
            verdicts = None if is_lost else future.result()
            if is_lost or (verdicts is None and not last):
                again.append(one)
            else:
                yield one, verdicts
