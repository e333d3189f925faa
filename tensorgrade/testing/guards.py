"""Guards around learner code that runs in this process: exits and breakpoints."""

import os
import pdb
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest.mock import patch

EXIT = os._exit


class Breakpoints:
    """The breakpoints in learner code, which are passed without stopping except in `stopping`.

    Learner code runs many times: for each case, and again for each note. reached: the exercises
    whose code has reached a breakpoint.
    """

    def __init__(self) -> None:
        self.reached: set[str] = set()
        self.passed = False  # True if code reached a breakpoint since this was last reset
        self.hooks: tuple[Callable, Callable] = (sys.breakpointhook, pdb.set_trace)

    def pass_by(self, *_: Any, **__: Any) -> None:
        """Record that code reached a breakpoint, without stopping at it."""
        self.passed = True

    @contextmanager
    def record_for(self, exercise: str) -> Iterator[None]:
        """Add an exercise to `reached` if its code reaches a breakpoint in this context."""
        self.passed = False
        yield
        if self.passed:
            self.reached.add(exercise)

    @contextmanager
    def passed_by(self) -> Iterator[None]:
        """Stop at no breakpoint in this context."""
        self.hooks = sys.breakpointhook, pdb.set_trace
        with (
            patch.object(sys, "breakpointhook", self.pass_by),
            patch.object(pdb, "set_trace", self.pass_by),
        ):
            yield

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Stop at breakpoints in this context, inside `passed_by`."""
        hook, set_trace = self.hooks
        with patch.object(sys, "breakpointhook", hook), patch.object(pdb, "set_trace", set_trace):
            yield


@contextmanager
def guarded(breakpoints: Breakpoints) -> Iterator[None]:
    """Prevent learner code from ending this process and from stopping at a breakpoint."""
    process, thread = os.getpid(), threading.get_ident()

    def exit_code(status: int) -> NoReturn:
        """Report an exit of learner code as an error; end other processes and threads as usual."""
        if (os.getpid(), threading.get_ident()) != (process, thread):
            EXIT(status)
        raise SystemExit(f"os._exit({status})")

    with breakpoints.passed_by(), patch.object(os, "_exit", exit_code):
        yield
