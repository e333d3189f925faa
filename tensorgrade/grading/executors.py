"""Who does the grading: processes on this machine. (cluster.py: those of a dask scheduler.)

Workers of either kind have `ahead`, how many hand-ins to give out at once; `check_in()`; and
`submit(handin)`, which gives a Future that ends with one of `lost` where its worker died.
"""

import multiprocessing
import os
import signal
from collections import Counter
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

from . import worker
from .submissions import Handin


def pool(workers: int, graders: Path, isolation: str, device: str) -> Executor:
    """Worker processes, each with a grader of its own."""
    return ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), worker.start, (str(graders), isolation, device)
    )


class LocalWorkers:
    """A pool of processes that is replaced when one of them dies."""

    lost = (BrokenExecutor,)

    def __init__(self, count: int, graders: Path, isolation: str, device: str):
        self.count, self.settings = count, (graders, isolation, device)
        self.executor = pool(count, *self.settings)
        # One in work and one at hand for each, so that nobody waits for the ledger.
        self.ahead = 2 * count

    def check_in(self) -> dict[str, int]:
        """How many workers grade on which rung of isolation. Raises NotReady.

        Each submission brings one more process up, so that they all start at the same time.
        """
        with not_interrupted():
            rungs = [self.executor.submit(worker.check_in) for _ in range(self.count)]
        return dict(Counter(rung.result() for rung in rungs))

    def submit(self, handin: Handin) -> Future:
        """Have one hand-in graded. Raises one of `lost`."""
        with not_interrupted():
            return self.executor.submit(worker.grade, handin)

    def replace(self, running: set[Future]) -> set[Future]:
        """New processes after a loss; returns those futures that have ended with the old ones."""
        wait(running)
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = pool(self.count, *self.settings)
        return running

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.executor.shutdown(wait=kind is None, cancel_futures=True)
        if kind is not None:  # interrupted: what is in work is graded again next time
            for process in multiprocessing.active_children():
                process.terminate()


@contextmanager
def not_interrupted():
    """Processes started in here do not see Ctrl-C: only the run itself decides what it means."""
    if not hasattr(signal, "pthread_sigmask"):  # not there on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def default_count(handins: int, jobs: int) -> int:
    """How many processes for so many hand-ins: one for each core that is ours, unless told."""
    ours = getattr(os, "sched_getaffinity", lambda process: range(os.cpu_count() or 1))
    return min(jobs or len(ours(0)), max(1, handins))
