"""Give submissions to workers, and make sure that each comes back, even if workers die.

If a worker dies, the submissions that it and the others held are lost, and the one that caused this
is unknown. If a process that runs learner code ends, the machine may be at fault. So each of these
submissions is graded once more, alone, after all others. What fails again is the learner's if a
right answer passes at that moment (grader.py); otherwise it is not graded.
"""

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from math import ceil
from typing import Self

from ..attempts.setup import Setup
from ..attempts.verdict import WORKER_ENDED, Verdict
from ..course import Course, CourseError
from ..processes import side_by_side
from ..sources.submitted_files import SubmittedFiles
from . import grader

SUBMISSIONS_PER_WORKER = 4  # they are graded in less time than one more worker needs to start


class Workers:
    """Worker processes on this machine, used as a context; cluster.py has the same methods.

    ahead: the number of submissions to give out at once: one in work and one waiting for each
    worker.
    """

    def __init__(self, count: int, setup: Setup):
        self.count, self.setup, self.ahead = count, setup, 2 * count
        # The processes share what is imported here; each has its own grader.
        self.pool = side_by_side(count, warm=True)

    def submit(self, one: SubmittedFiles, last: bool) -> Future[list[Verdict] | None]:
        """Send one submission to a worker. last: as in `one_try` of a grader."""
        try:
            return self.pool.submit(grader.grade, self.setup, one, last)
        except BrokenExecutor:  # a worker died, and the pool with it
            self.pool.shutdown()
            self.pool = side_by_side(self.count, warm=True)
            return self.pool.submit(grader.grade, self.setup, one, last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.pool.shutdown(wait=kind is None, cancel_futures=True)


def default_count(submissions: int, jobs: int) -> int:
    """Return the number of processes for some submissions: at most `jobs`, or one per core."""
    ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    enough = max(1, ceil(submissions / SUBMISSIONS_PER_WORKER))
    return min(jobs if jobs > 0 else len(ours(0)), enough)


Graded = tuple[SubmittedFiles, list[Verdict]]
Done = tuple[SubmittedFiles, Future[list[Verdict] | None]]


def graded(todo: list[SubmittedFiles], workers: Workers, course: Course) -> Iterator[Graded]:
    """Yield each submission exactly once with its verdicts.

    Those that this machine cannot grade are left out. Raises CourseError if a worker cannot grade
    at all.
    """
    again = []
    for one, future in flow(todo, workers, last=False):
        verdicts = None if future.exception() else future.result()
        if verdicts is None:
            again.append(one)
        else:
            yield one, verdicts
    for one in again:
        for _, future in flow([one], workers, last=True):
            if future.exception():  # it has ended a worker twice
                yield one, grader.set_aside(one, course, WORKER_ENDED)
            elif verdicts := future.result():
                yield one, verdicts


def flow(todo: list[SubmittedFiles], workers: Workers, last: bool) -> Iterator[Done]:
    """Yield finished tries as they arrive, with a bounded number of submissions at the workers.

    One whose worker died has an exception. Raises CourseError if a worker cannot grade at all.
    """
    left = deque(todo)
    running: dict[Future[list[Verdict] | None], SubmittedFiles] = {}
    while left or running:
        while left and len(running) < workers.ahead:
            one = left.popleft()
            running[workers.submit(one, last)] = one
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            if isinstance(error := future.exception(), CourseError):
                raise error
            yield running.pop(future), future
