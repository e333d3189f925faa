"""A build on a terminal: how far it is and how long it still takes; and one for every save."""

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from ..views.words import plural

SECONDS_BETWEEN_LINES = 10


class BuildProgress:
    """Used as `with BuildProgress() as progress:`; `progress.tell` is told how far a build is.

    A bar on a terminal, plain lines elsewhere. The bar is drawn when something is told and by no
    thread: a process with threads cannot be forked.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic):
        self.console, self.clock = console or Console(highlight=False), clock
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=self.console,
            auto_refresh=False,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None, left="")
        self.begun = self.last_line = clock()
        self.total = 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def tell(self, what: str, done: int, total: int) -> None:
        """So much of what is to be run is done."""
        if total != self.total:  # another stretch begins: mistakes alone, then pairs
            self.begun, self.total = self.clock(), total
        left = time_left(self.clock() - self.begun, done, total)
        self.bar.update(self.task, description=escape(what), completed=done, total=total, left=left)
        self.bar.refresh()
        if not self.console.is_terminal and self.clock() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            self.say(f"{done} of {plural(total, 'run')}, {left}")

    def say(self, line: str) -> None:
        """A line above the bar."""
        self.console.print(escape(line), soft_wrap=True)


def time_left(seconds: float, done: int, total: int) -> str:
    """How long the rest takes, at the pace so far.

    >>> time_left(30, 100, 400)
    'about 1:30 left'
    """
    rest = round(seconds * (total - done) / max(1, done))
    return f"about {rest // 60}:{rest % 60:02} left"
