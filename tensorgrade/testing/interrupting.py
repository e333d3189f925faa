"""Interrupt endless learner code in this process, without signals (so on Windows too)."""

import ctypes
import sys
import threading
import time
from math import inf

from ..runner.errors import OutOfTime
from .guards import EXIT

LAST_TRIES = 5
SECONDS_BETWEEN_TRIES = 1.0


class Interrupter:
    """A timer that raises OutOfTime in the thread that created it when its seconds are up.

    The exception arrives between two steps of the learner's Python code, never in other code. Code
    that catches it is interrupted again. A single call that never returns ends the whole run with
    a message.
    """

    def __init__(self, seconds: float):
        self.seconds, self.thread, self.tries = seconds, threading.get_ident(), 0
        self.due = time.monotonic() + seconds
        CLOCK.add(self)

    def interrupt(self) -> None:
        """Raise OutOfTime in the thread, and schedule the next try in case that has no effect.

        After LAST_TRIES tries, end the process.
        """
        if OutOfTime.welcome:
            self.tries += 1
            if self.tries > LAST_TRIES:
                end_everything(self.seconds)
            OutOfTime.seconds = self.seconds
            raise_in(self.thread, OutOfTime)
        self.due = time.monotonic() + SECONDS_BETWEEN_TRIES

    def cancel(self) -> None:
        """Cancel the timer."""
        CLOCK.remove(self)


class Clock:
    """One thread for all interrupters, because starting one for each test takes too long."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.running: list[Interrupter] = []
        self.thread: threading.Thread | None = None
        self.awake_at = inf  # when the thread wakes up

    def add(self, one: Interrupter) -> None:
        """Add an interrupter to those that the thread watches."""
        with self.changed:
            self.running.append(one)
            if self.thread is None or not self.thread.is_alive():  # threads do not survive a fork
                self.awake_at = one.due
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()
            elif one.due < self.awake_at:
                self.changed.notify()

    def remove(self, one: Interrupter) -> None:
        """Remove an interrupter; after this call it interrupts nothing."""
        with self.changed:
            self.running = [other for other in self.running if other is not one]

    def run(self) -> None:
        """Interrupt the threads whose time is up, and sleep until the next deadline."""
        with self.changed:
            while True:
                for one in self.running:
                    if one.due <= time.monotonic():
                        one.interrupt()
                self.awake_at = min((one.due for one in self.running), default=inf)
                left = self.awake_at - time.monotonic()
                self.changed.wait(None if left == inf else max(left, 0))


CLOCK = Clock()


def raise_in(thread: int, exception: type[BaseException]) -> None:
    """Raise an exception in another thread, at its next step."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(exception))


def end_everything(seconds: float) -> None:
    """Print the reason and exit the process, as a last resort."""
    print(
        f"\nA call in your file did not come back after {seconds:g} seconds and cannot be "
        "interrupted, so this run ends here. Look for a loop that never finishes.",
        file=sys.__stderr__,
        flush=True,
    )
    EXIT(2)
