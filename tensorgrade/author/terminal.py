"""A build on a terminal, with its progress and the time left, and a build on every save."""

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn

from ..course import CourseError
from ..project import Project
from ..views.words import plural
from .building.building import build, last_line

FORKS = sys.platform == "linux"
SECONDS_BETWEEN_LINES = 10
SECONDS_BETWEEN_LOOKS = 0.1
WRITTEN = ("*_config.py", "solutions/**/*.py", "graders/**/*.py", "exercises/given/*/*.py")


class BuildProgress:
    """The progress display of a build: a bar on a terminal, plain lines elsewhere.

    Use it as `with BuildProgress() as progress:` and pass `progress.tell` to the build. The bar is
    redrawn on each call of `tell` and not by a thread: a process with threads cannot be forked.
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
        """Show the number of finished runs and the time left. what: the exercise."""
        if total != self.total:  # the next stage begins: single mistakes, then pairs
            self.begun, self.total = self.clock(), total
        rest = round((self.clock() - self.begun) * (total - done) / max(1, done))
        left = f"about {rest // 60}:{rest % 60:02} left"  # at the pace so far
        self.bar.update(self.task, description=escape(what), completed=done, total=total, left=left)
        self.bar.refresh()
        if not self.console.is_terminal and self.clock() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            self.say(f"{done} of {plural(total, 'run')}, {left}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.console.print(escape(line), soft_wrap=True)


def author(root: Path) -> None:
    """Build a course, and build it again on every save, until interrupted.

    Each build runs in a fork of this process, which has already imported the slow packages but no
    code of the course. Each build therefore reads the current course. A saved change to the engine
    has no effect.
    """
    changed: list[Path] = []
    while True:
        seen = look(root)
        build_apart(root, changed)
        changed = next_change(root, seen)


def look(root: Path) -> dict[Path, tuple[int, int]]:
    """Return the time of the last change and the size of each of the author's files."""
    paths = (path for pattern in WRITTEN for path in root.glob(pattern))
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.exists()}


def next_change(root: Path, before: dict[Path, tuple[int, int]]) -> list[Path]:
    """Wait until files are saved, created or deleted, and return them."""
    while (now := look(root)) == before:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    paths = before.keys() | now.keys()
    return sorted(path for path in paths if before.get(path) != now.get(path))


def build_apart(root: Path, changed: list[Path]) -> None:
    """Run one build in its own process."""
    forks = multiprocessing.get_context("fork").Process if FORKS else multiprocessing.Process
    process = forks(target=build_and_say, args=(root, changed))
    process.start()
    try:
        process.join()
    finally:  # after an interruption, end the build as well
        process.terminate()


def build_and_say(root: Path, changed: list[Path]) -> None:
    """Build the exercises that some files may have changed, and report the result and the time."""
    sys.dont_write_bytecode = True  # it would hide a second save within the same second
    try:
        say_built(root, changed)
    except KeyboardInterrupt:  # the parent process was interrupted as well and reports it
        os._exit(130)


def say_built(root: Path, changed: list[Path]) -> None:
    """Run one build and show it on the terminal."""
    begun, console = time.monotonic(), Console(highlight=False)
    for path in changed:
        console.print(f"[bold]{escape(str(path.relative_to(root)))}[/bold] was saved")
    try:
        with BuildProgress(console) as progress:
            project = Project(root)
            only = concerned(project, changed) or frozenset()
            wrong = build(project, only, False, progress.tell, progress.say)
        lines = [f"✗ {error}" for error in wrong] or [f"✓ {last_line(project, only)}"]
    except CourseError as error:
        lines = [f"✗ {line}" for line in str(error).splitlines()]
    for line in lines:
        console.print(escape(line), soft_wrap=True)
    console.print(f"[dim]{time.monotonic() - begun:.1f} s; waiting for the next save[/dim]")


def concerned(project: Project, changed: Iterable[Path]) -> frozenset[str] | None:
    """Return the exercises that these files affect, or None if it may be all of them."""
    found: set[str] = set()
    chapters = {chapter.name: chapter for chapter in project.course.chapters}
    for path in changed:
        lesson = path.parent == project.root / "solutions"
        chapter = chapters.get(path.stem if lesson else path.parent.name)
        names = {exercise.name for exercise in chapter.exercises} if chapter else set()
        own = (
            {path.stem} if path.parent.parent == project.graders and path.suffix == ".py" else None
        )
        about = names if lesson else own
        if not about or not about <= names:
            return None
        found |= about
        if own and chapter:  # find-the-bug exercises use another exercise's cases and checks
            found |= {one.name for one in chapter.exercises if one.like == path.stem}
    return frozenset(found)
