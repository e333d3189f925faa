"""Ends learner code that never ends, in this process, without signals (so on Windows too)."""

import ctypes
import os
import sys
import threading
import time
from math import inf

from ..runner.errors import OutOfTime

LAST_TRIES = 5
SECONDS_BETWEEN_TRIES = 1.0


class Interrupter:
    """Raises OutOfTime in the thread that made it, once its seconds are up.

    The exception arrives between two steps of Python code, and of a learner's alone. Code that
    catches it is interrupted again; a single call that never comes back ends the whole run, with a
    sentence.
    """

    def __init__(self, seconds: float):
        self.seconds, self.thread, self.tries = seconds, threading.get_ident(), 0
        self.due = time.monotonic() + seconds
        CLOCK.add(self)

    def interrupt(self) -> None:
        """Raise OutOfTime over there; come back until it has had its effect."""
        if OutOfTime.welcome:
            self.tries += 1
            if self.tries > LAST_TRIES:
                end_everything(self.seconds)
            OutOfTime.seconds = self.seconds
            raise_in(self.thread, OutOfTime)
        self.due = time.monotonic() + SECONDS_BETWEEN_TRIES

    def cancel(self) -> None:
        """Call it off."""
        CLOCK.remove(self)


class Clock:
    """One thread for all interrupters: to start one for each test takes longer than most tests."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.running: list[Interrupter] = []
        self.thread: threading.Thread | None = None
        self.awake_at = inf  # until when the thread sleeps

    def add(self, one: Interrupter) -> None:
        """Have an interrupter's moment watched for."""
        with self.changed:
            self.running.append(one)
            if self.thread is None or not self.thread.is_alive():  # threads survive no fork
                self.awake_at = one.due
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()
            elif one.due < self.awake_at:
                self.changed.notify()

    def remove(self, one: Interrupter) -> None:
        """Forget about it; from then on it interrupts nothing."""
        with self.changed:
            self.running = [other for other in self.running if other is not one]

    def run(self) -> None:
        """In the thread: interrupt what is due, and sleep until the next moment."""
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
    """The last resort: say why, and end the process."""
    print(
        f"\nA call in your file did not come back after {seconds:g} seconds and cannot be "
        "interrupted, so this run ends here. Look for a loop that never finishes.",
        file=sys.__stderr__,
        flush=True,
    )
    os._exit(2)
