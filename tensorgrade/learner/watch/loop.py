"""The loop: wait for a save or a key, check or turn the page, show it."""

import time
from itertools import chain
from pathlib import Path

from rich.console import Console

from ...attempts.verdict import CheckResult, State, state_of
from ...course import Course
from ...views.summary import Results, first_to_work_on, print_progress
from .checker import Checker
from .screen import Keys, show_exercise, show_keys

LOOK_EVERY = 0.02  # seconds


class Watch:
    """The learner's files, the checks on them so far, and the exercise on the page.

    console: where to show it. Every method draws the page that it leads to.
    """

    def __init__(self, tests: Path, folder: Path, console: Console):
        self.console, self.folder = console, folder
        self.checker = Checker(tests, folder)
        self.course = self.checker.course
        self.chapters = [c.name for c in self.course.chapters if self.checker.path(c.name).exists()]
        self.saves = Saves([self.checker.path(chapter) for chapter in self.chapters])
        self.by_exercise: Results = {}
        self.page: str | None = None
        self.hints, self.listed, self.checked = 0, False, ""

    def start(self) -> None:
        """Check everything once, and open the first exercise to work on."""
        for chapter in self.chapters:
            self.console.print(f"checking {chapter} …", style="dim")
            results, _ = self.checker.check(chapter)
            self.by_exercise |= results
        self.open(first_to_work_on(self.course, self.by_exercise))

    def look(self) -> bool:
        """Check what has been saved since the last look; whether there was anything."""
        saved = self.saves.since_last()
        for path in saved:
            self.check(path)
        return bool(saved)

    def check(self, path: Path) -> None:
        """Check one file; go where something has changed, else stay or find its first one to do."""
        results, seconds = self.checker.check(path.stem)
        changed = [
            name
            for name in results
            if outcome(results[name]) != outcome(self.by_exercise.get(name, []))
        ]
        self.by_exercise |= results
        self.checked = (
            f"{path.name}, {time.strftime('%H:%M:%S')}, checked in {seconds * 1000:.0f} ms"
        )
        if changed and self.page not in changed:
            self.open(changed[0])
        elif self.page not in results:
            self.open(first_to_work_on(self.course, results) or self.page)
        else:
            self.draw()

    def press(self, key: str) -> bool:
        """Do what a key stands for; False for the one that ends it."""
        if key in ("q", "\x03", "\x04"):
            return False
        if key == "h":
            self.hints += 1
            self.listed = False
            self.draw()
        elif key == "n":
            self.open(self.following())
        elif key == "l":
            self.listed = not self.listed
            self.draw()
        return True

    def following(self) -> str | None:
        """The next exercise that is not done, after the one on the page and round again."""
        order = [name for name in exercises(self.course) if name in self.by_exercise]
        here = order.index(self.page) + 1 if self.page in order else 0
        left = [
            name
            for name in order[here:] + order[:here]
            if state_of(self.by_exercise[name]) != State.DONE
        ]
        return left[0] if left else None

    def open(self, name: str | None) -> None:
        """Turn to the page of an exercise."""
        if name != self.page:
            self.hints = 0
        self.page, self.listed = name, False
        self.draw()

    def draw(self) -> None:
        """The whole page anew."""
        self.console.clear()
        if self.listed:
            print_progress(self.console, self.course, self.by_exercise, every=True)
        else:
            show_exercise(
                self.console, self.course, self.page, self.by_exercise, self.folder, self.hints
            )
        for sentence in chain.from_iterable(self.checker.left_out.values()):
            self.console.print(f"\n{sentence}", style="yellow", markup=False)
        show_keys(self.console, self.checked)

    def close(self) -> None:
        """End what is kept warm."""
        self.checker.close()


def outcome(checks: list[CheckResult]) -> list[str | bool]:
    """What a change of an exercise would change: which checks pass, and what the others say."""
    return [check.finding.diagnosis.problem if check.finding else check.passed for check in checks]


def exercises(course: Course) -> list[str]:
    """Names of all exercises in the course's order."""
    return [exercise.name for chapter in course.chapters for exercise in chapter.exercises]


def watch(tests: Path, folder: Path) -> None:
    """Watch a folder until `q` is pressed."""
    session = Watch(tests, folder, Console(highlight=False))
    try:
        with Keys() as keys:
            session.start()
            while True:
                key = keys.next(LOOK_EVERY)
                if key is not None and not session.press(key):
                    break
                session.look()
    except KeyboardInterrupt:
        pass
    finally:
        session.close()


class Saves:
    """Some files, and how each of them looked the last time."""

    def __init__(self, paths: list[Path]):
        self.seen = {path: look(path) for path in paths}

    def since_last(self) -> list[Path]:
        """The files that have changed since this was last asked."""
        now = {path: look(path) for path in self.seen}
        changed = [path for path, state in now.items() if state != self.seen[path]]
        self.seen = now
        return changed


def look(path: Path) -> tuple[int, int, int] | None:
    """(time in ns, size in bytes, inode); None where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
