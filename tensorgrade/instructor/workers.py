"""Gives hand-ins to workers, and sees to it that each comes back, whoever dies on the way.

Here the workers are processes of this machine; in cluster.py those of a dask scheduler. A worker
that dies takes the hand-ins with it that it had; whose fault it was cannot be seen from outside.
They are graded again, each alone. One that ends its worker once more is set aside.
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
from ..processes import side_by_side
from ..sources.handins import Handin
from . import grader
from .grader import ENDED_ITS_WORKER, set_aside


class Workers(Protocol):
    """Whoever grades, used as a context.

    lost: what a future ends with where its worker died. ahead: how many hand-ins to give out at
    once.
    """

    @property
    def lost(self) -> tuple[type[BaseException], ...]: ...

    @property
    def ahead(self) -> int: ...

    def check_in(self) -> dict[str, int]:
        """How many workers grade on which rung of isolation."""

    def submit(self, handin: Handin) -> Future[list[Verdict]]:
        """Have one hand-in graded."""

    def replace(self, running: set[Future]) -> set[Future]:
        """Make up for a loss; returns those futures that have ended with it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


def pool(workers: int, setup: Setup) -> Executor:
    """Worker processes, each with a grader of its own; they have imported torch already."""
    return side_by_side(workers, grader.start, setup, warm=True)


class LocalWorkers:
    """A pool of processes that is replaced when one of them dies."""

    lost = (BrokenExecutor,)

    def __init__(self, count: int, setup: Setup):
        self.count, self.setup = count, setup
        self.executor = pool(count, setup)
        # One in work and one at hand for each, so that nobody waits for the ledger.
        self.ahead = 2 * count

    def check_in(self) -> dict[str, int]:
        """How many workers grade on which rung of isolation. Raises NotReady.

        Each submission brings one more process up, so that they all start at the same time.
        """
        with not_interrupted():
            rungs = [self.executor.submit(grader.check_in) for _ in range(self.count)]
        return dict(Counter(rung.result() for rung in rungs))

    def submit(self, handin: Handin) -> Future[list[Verdict]]:
        """Have one hand-in graded. Raises one of `lost`."""
        with not_interrupted():
            return self.executor.submit(grader.grade, handin)

    def replace(self, running: set[Future]) -> set[Future]:
        """New processes after a loss; returns those futures that have ended with the old ones."""
        wait(running)
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = pool(self.count, self.setup)
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.executor.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:  # interrupted: what is in work is graded again next time
            for process in multiprocessing.active_children():
                process.terminate()


@contextmanager
def not_interrupted() -> Iterator[None]:
    """Processes started in here do not see Ctrl-C: only the run itself decides what it means."""
    if not hasattr(signal, "pthread_sigmask"):  # not there on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


HANDINS_FOR_A_WORKER = 4  # are graded in less time than it takes one more to get ready


def default_count(handins: int, jobs: int) -> int:
    """How many processes for so many hand-ins: one for each core that is ours, unless told."""
    if jobs:
        return min(jobs, max(1, handins))
    ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    return min(len(ours(0)), max(1, ceil(handins / HANDINS_FOR_A_WORKER)))


Graded = tuple[Handin, list[Verdict]]


def graded(todo: list[Handin], workers: Workers, course: Course) -> Iterator[list[Graded]]:
    """Verdicts on each hand-in exactly once, in batches as they come."""
    suspects: list[Handin] = []
    yield from flow(todo, workers, workers.ahead, suspects)
    for handin in suspects:
        guilty: list[Handin] = []
        yield from flow([handin], workers, 1, guilty)
        if guilty:
            yield [(handin, set_aside(handin, course, Status.KILLED, ENDED_ITS_WORKER))]


def flow(
    todo: list[Handin], workers: Workers, ahead: int, lost: list[Handin]
) -> Iterator[list[Graded]]:
    """Keep so many hand-ins with the workers until all are back, or in the list of those lost."""
    waiting = deque(todo)
    running: dict[Future[list[Verdict]], Handin] = {}
    while waiting or running:
        while waiting and len(running) < ahead:
            handin = waiting.popleft()
            running[submitted(handin, workers)] = handin
        done = wait(running, return_when=FIRST_COMPLETED).done
        if any(isinstance(future.exception(), workers.lost) for future in done):
            done = done | workers.replace(set(running) - done)
        finished = {running.pop(future): future for future in done}
        back = {h: f for h, f in finished.items() if not isinstance(f.exception(), workers.lost)}
        lost += [handin for handin in finished if handin not in back]
        if back:
            yield [(handin, future.result()) for handin, future in back.items()]


def submitted(handin: Handin, workers: Workers) -> Future[list[Verdict]]:
    """The future of one hand-in; one that has failed already where the workers are just dying."""
    try:
        return workers.submit(handin)
    except workers.lost as error:
        failed: Future[list[Verdict]] = Future()
        failed.set_exception(error)
        return failed
