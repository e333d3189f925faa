"""A build on a terminal with its progress, and a build on every save."""

import multiprocessing
import os
import sys
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..course import CourseError
from ..project import Project
from .building import build, last_line

FORKS = sys.platform == "linux"
SECONDS_BETWEEN_LOOKS = 0.1
WRITTEN = ("*_config.py", "solutions/**/*.py", "graders/**/*.py", "exercises/given/*/*.py")


def build_shown(
    project: Project, names: Collection[str], pairs: bool, console: Console
) -> list[str]:
    """Run a build with a bar on a terminal and lines above it. Return the errors.

    The bar is redrawn on each call and not by a thread: a process with threads cannot be forked.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    bar = Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=None)

    def tell(what: str, done: int, total: int) -> None:
        bar.update(task, description=escape(what), completed=done, total=total)
        bar.refresh()

    def say(line: str) -> None:
        console.print(escape(line), soft_wrap=True)

    try:
        with bar:
            return build(project, names, pairs, tell, say)
    except CourseError as error:  # if the sources cannot be read
        return str(error).splitlines()


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
    """Build the chapters that some files may have changed, and report the result and the time."""
    sys.dont_write_bytecode = True  # it would hide a second save within the same second
    begun, console = time.monotonic(), Console(highlight=False)
    for path in changed:
        console.print(f"[bold]{escape(str(path.relative_to(root)))}[/bold] was saved")
    project, names = Project(root), set[str]()
    try:
        with suppress(CourseError):  # the build reports it
            names = concerned(project, changed)
        wrong = build_shown(project, names, False, console)
    except KeyboardInterrupt:  # the parent process was interrupted as well and reports it
        os._exit(130)
    for line in [f"✗ {error}" for error in wrong] or [f"✓ {last_line(project, names)}"]:
        console.print(escape(line), soft_wrap=True)
    console.print(f"[dim]{time.monotonic() - begun:.1f} s; waiting for the next save[/dim]")


def concerned(project: Project, changed: list[Path]) -> set[str]:
    """Return the chapters whose own files changed; none, which means all, if another one did."""
    chapters = {chapter.name for chapter in project.course.chapters}
    found = {path: chapters & {path.stem, path.parent.name} for path in changed}
    return set().union(*found.values()) if all(found.values()) else set()
