"""A build on a terminal: how far it is and how long it still takes; and one for every save."""

import contextlib
import gc
import multiprocessing
import os
import py_compile
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from py_compile import PycInvalidationMode
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from ..course import CourseError
from ..grader_files import marked_tests
from ..project import Project
from ..views.words import plural
from .building.made_parts import Wish
from .building.script import read_script
from .proofs.complaints import rebuild
from .proved import concerned
from .recording.origin import engine_digest, stripped

FORKS = sys.platform == "linux"
SECONDS_BETWEEN_LINES = 10
SECONDS_BETWEEN_LOOKS = 0.1
WRITTEN = ("*_config.py", "solutions/**/*.py", "graders/**/*.py", "exercises/given/*/*.py")


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


def author(root: Path) -> None:
    """Build a course, and again on every save, until interrupted.

    Each build is a fork of this process, which has imported what takes long and nothing of the
    course; so each build reads the course as it is. What the engine is, no save changes.
    """
    engine_digest()  # kept, and so not looked for in every fork
    changed: list[Path] = []
    while True:
        seen = look(root)
        read_ahead(root, changed or seen)
        build_apart(root, changed)
        changed = next_change(root, seen)


def read_ahead(root: Path, paths: Iterable[Path]) -> None:
    """Take lessons and grader files apart here, and not in every fork. What comes of it is kept by
    their text, so it is never stale; what is wrong with one, a build says.
    """
    for path in paths:
        with contextlib.suppress(Exception):
            if path.is_relative_to(root / "graders"):
                py_compile.compile(str(path), invalidation_mode=PycInvalidationMode.CHECKED_HASH)
            if path.parent.parent == root / "graders":
                marked_tests(path)
                continue
            stripped(path)
            if path.parent == root / "solutions":
                read_script(path)
    gc.freeze()  # else every collection in a fork goes through all of this


def look(root: Path) -> dict[Path, tuple[int, int]]:
    """When each of the author's files was saved, and its size."""
    paths = (path for pattern in WRITTEN for path in root.glob(pattern))
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.exists()}


def next_change(root: Path, before: dict[Path, tuple[int, int]]) -> list[Path]:
    """Wait until files are saved that no longer look as before; returns them."""
    while (now := look(root)) == before:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    paths = before.keys() | now.keys()
    return sorted(path for path in paths if before.get(path) != now.get(path))


def build_apart(root: Path, changed: list[Path]) -> None:
    """One build in a process of its own."""
    forks = multiprocessing.get_context("fork").Process if FORKS else multiprocessing.Process
    process = forks(target=build_and_say, args=(root, changed))
    process.start()
    try:
        process.join()
    finally:  # interrupted: nobody stays at work
        process.terminate()


def build_and_say(root: Path, changed: list[Path]) -> None:
    """Build what some files may have changed, and say what came of it, and in how many seconds."""
    sys.dont_write_bytecode = True  # a file that is saved twice within a second is read twice
    try:
        say_built(root, changed)
    except KeyboardInterrupt:  # told by the process that started this one
        os._exit(130)


def say_built(root: Path, changed: list[Path]) -> None:
    """One build, told on the terminal."""
    begun, console = time.monotonic(), Console(highlight=False)
    for path in changed:
        console.print(f"[bold]{escape(str(path.relative_to(root)))}[/bold] was saved")
    try:
        with BuildProgress(console) as progress:
            project = Project(root)
            wish = Wish(exercises=concerned(project, changed) or frozenset())
            built = rebuild(
                project, wish, progress.tell, lambda path: progress.say(f"wrote {path}")
            )
        lines = [f"✗ {complaint}" for complaint in built.wrong] or [f"✓ {built.said}"]
    except CourseError as error:
        lines = [f"✗ {line}" for line in str(error).splitlines()]
    for line in lines:
        console.print(escape(line), soft_wrap=True)
    console.print(f"[dim]{time.monotonic() - begun:.1f} s; waiting for the next save[/dim]")
