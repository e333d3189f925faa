"""The display of a training run: a bar, the curve of the loss, and a sample of the writing."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from .curve import curve
from .training import Run

WIDTH, HEIGHT = 60, 8
EVERY = 0.25  # seconds between two updates


class Screen:
    """A picture that is updated in a terminal; elsewhere a line from time to time."""

    def __init__(self, console: Console, run: Run):
        self.console, self.run, self.sample = console, run, ""
        self.began = self.drawn = time.monotonic()
        self.live = Live(console=console, auto_refresh=False, transient=False)

    @contextmanager
    def open(self) -> Iterator["Screen"]:
        """Show the picture while the context is open, and leave the last one on the screen."""
        if not self.console.is_terminal:
            yield self
            return
        with self.live:
            try:
                yield self
            finally:
                self.live.update(self.picture(), refresh=True)

    def step(self) -> None:
        """Record a step, and draw unless the picture is fresh."""
        if self.console.is_terminal and time.monotonic() - self.drawn > EVERY:
            self.live.update(self.picture(), refresh=True)
            self.drawn = time.monotonic()

    def wrote(self, sample: str) -> None:
        """Show a text that the model has written."""
        self.sample = sample
        if not self.console.is_terminal:
            losses = self.run.losses[-100:]
            loss = f"loss {sum(losses) / len(losses):.2f}"
            self.console.print(f"step {len(self.run.losses)}: {loss}", markup=False)
            self.console.print(Padding(Text(sample.strip()), (0, 4), expand=False))

    def picture(self) -> Group:
        """Return bar, curve and sample."""
        run, done = self.run, len(self.run.losses)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(run.steps, done, width=WIDTH // 2), f"step {done} of {run.steps}")
        lines = curve(run.losses, WIDTH, HEIGHT, run.steps) if done else []
        sample = Padding(Text(self.sample.strip(), "italic"), (1, 2, 0, 2))
        return Group(bar, *map(Text, lines), Text(self.standing(), "dim"), sample)

    def standing(self) -> str:
        """Return a line with the loss and the remaining time."""
        run, done = self.run, len(self.run.losses)
        if not done:
            return ""
        seconds = time.monotonic() - self.began
        left = f"{seconds:.0f} s, about {seconds / done * (run.steps - done):.0f} s left"
        return f"loss {run.losses[-1]:.2f}   {left}   Ctrl-C stops and saves"
