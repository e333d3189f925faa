"""Progress of a class being graded: a bar on a terminal, plain lines elsewhere."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from ..grading.submissions import Handin
from ..results import TROUBLE, Verdict
from .words import plural

SECONDS_BETWEEN_LINES = 10
MOST_LISTED = 12


class ClassProgress:
    """Used as `with ClassProgress() as progress:`; told of every hand-in as it is graded."""

    def __init__(self, console: Console | None = None, clock=time.monotonic):
        self.console, self.clock = console or Console(highlight=False), clock
        self.bar = Progress(
            TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[said]}"),
            console=self.console, transient=True, disable=not self.console.is_terminal,
        )
        self.started = self.last_line = clock()
        self.count = self.total = self.trouble = 0

    def __enter__(self):
        self.bar.start()
        return self

    def __exit__(self, *exception):
        self.bar.stop()

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        """Say what there is to do."""
        for note in notes:
            self.say(f"note: {note}")
        done = f", {total - left} of them graded before" if left < total else ""
        self.say(f"{plural(total, 'hand-in')}{done}")
        self.total, self.task = left, self.bar.add_task("", total=left, said="")

    def checked_in(self, rungs: dict[str, int]) -> None:
        """Say how many workers there are, and how each locks learner code in."""
        for rung, count in rungs.items():
            self.say(f"{plural(count, 'worker')}, isolation {rung}")
        self.started = self.last_line = self.clock()

    def advance(self, handin: Handin, verdicts: list[Verdict]) -> None:
        """One more is done."""
        self.count += 1
        self.trouble += any(verdict.status in TROUBLE for verdict in verdicts)
        self.bar.update(self.task, advance=1, said=self.speed())
        if not self.console.is_terminal and self.clock() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            self.say(f"{self.count} of {self.total} graded, {self.speed()}")

    def speed(self) -> str:
        """`12.3/s, 0:40 left, 3 with trouble`."""
        rate = self.count / max(self.clock() - self.started, 1e-9)
        minutes, seconds = divmod(round((self.total - self.count) / rate), 60)
        return f"{rate:.1f}/s, {minutes}:{seconds:02} left, {self.trouble} with trouble"

    def moved(self, changes: list[tuple[dict, float]]) -> None:
        """Say whose points changed although the file did not: the graders did."""
        if changes:
            self.say(f"The graders changed; points moved in {plural(len(changes), 'row')}:")
        for row, before in changes[:MOST_LISTED]:
            self.say(f"  {row['student']}/{row['exercise']}: {before:g} → {row['points']:g}")
        if len(changes) > MOST_LISTED:
            self.say(f"  … and {len(changes) - MOST_LISTED} more")

    def say(self, line: str) -> None:
        self.console.print(line, markup=False, soft_wrap=True)
