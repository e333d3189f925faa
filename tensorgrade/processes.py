"""Run parallel worker processes, which exit when their parent process is gone."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.connection import wait


class Pool(ProcessPoolExecutor):
    """A pool that waits for its work when its context ends, but not after an error or Ctrl-C."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers, even those of a pool that broke while it wrote a task to one of them.

        Before 3.11.5 Python then waits forever for a reader of the task (python/cpython#94777). As
        in later versions, closing the only reader that is left ends the write.
        """
        tasks = getattr(self, "_call_queue", None)
        if sys.version_info < (3, 11, 5) and tasks and self._broken:
            tasks._reader.close()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def __exit__(self, *error: object) -> None:
        self.shutdown(wait=not any(error), cancel_futures=any(error))


def side_by_side(count: int | None = None, warm: bool = False) -> Pool:
    """Return a pool of worker processes, by default one for each core.

    warm: fork this process, so that workers share everything loaded here. If forking is not safe,
    fresh processes are started.
    """
    forks = warm and sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if forks else "spawn")
    return Pool(count or os.cpu_count(), context, start)


def start() -> None:
    """Set up a worker process. It ignores Ctrl-C, which its parent handles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a fork inherits its parent's handler
    gc.freeze()  # otherwise every collection scans all imported objects
    # Exit when the parent is gone, for whatever reason.
    if (parent := multiprocessing.parent_process()) is not None:
        threading.Thread(target=end_after, args=(parent.sentinel,), daemon=True).start()


def end_after(sentinel: int) -> None:
    """Wait until a process has ended, then exit this one."""
    wait([sentinel])
    os._exit(1)
