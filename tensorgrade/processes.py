"""Processes that work side by side, and end when the one that started them is gone."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait
from types import TracebackType


class Pool(ProcessPoolExecutor):
    """Used as a context, it waits for its work; but not where somebody interrupts it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)


def side_by_side(
    count: int | None = None,
    begin: Callable[..., object] | None = None,
    *arguments: object,
    warm: bool = False,
) -> Pool:
    """A pool of fresh processes, one for each core unless told.

    begin: what each of them does first, with these arguments. warm: forks of this process, with
    all that it has read and imported; where that is not safe, fresh ones all the same.
    """
    forks = warm and sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if forks else "spawn")
    return Pool(count or os.cpu_count(), context, start, (begin, arguments))


def start(begin: Callable[..., object] | None, arguments: tuple) -> None:
    """Once in each process. Ctrl-C is for the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork has the handler of who started it
    gc.freeze()  # else every collection goes through all that was imported
    leave_with_parent()
    if begin is not None:
        begin(*arguments)


def leave_with_parent() -> None:
    """End this process when the one that started it is gone, however that ended."""
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=end_after, args=(parent.sentinel,), daemon=True).start()


def end_after(sentinel: int) -> None:
    """Wait for a process's end, and end this one."""
    wait([sentinel])
    os._exit(1)
