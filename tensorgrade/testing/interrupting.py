"""Ends learner code that never ends, in this process, without signals (so on Windows too)."""

import ctypes
import os
import sys
import threading

from ..runner.errors import OutOfTime

LAST_TRIES = 5


class Interrupter:
    """Raises OutOfTime in the thread that made it, once its seconds are up.

    The exception arrives between two steps of Python code, and of a learner's alone. Code that
    catches it is interrupted again; a single call that never comes back ends the whole run, with a
    sentence.
    """

    def __init__(self, seconds: float):
        self.seconds, self.thread = seconds, threading.get_ident()
        self.tries, self.lock, self.done = 0, threading.Lock(), False
        self.timer = self.schedule(seconds)

    def schedule(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(seconds, self.interrupt)
        timer.daemon = True
        timer.start()
        return timer

    def interrupt(self) -> None:
        """Raise OutOfTime over there; come back until it has had its effect."""
        with self.lock:
            if self.done:
                return
            if OutOfTime.welcome:
                self.tries += 1
                if self.tries > LAST_TRIES:
                    end_everything(self.seconds)
                OutOfTime.seconds = self.seconds
                raise_in(self.thread, OutOfTime)
            self.timer = self.schedule(1.0)

    def cancel(self) -> None:
        """Call it off."""
        with self.lock:
            self.done = True
            self.timer.cancel()


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
