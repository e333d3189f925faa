"""The loop: wait for a save or a key, check or turn the page, show it."""

import time
from pathlib import Path

from rich.console import Console

from ..views.summary import first_to_work_on, print_progress, state_of
from .checker import Checker
from .keys import Keys
from .saves import Saves
from .screen import show_exercise, show_keys

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
        self.by_exercise: dict[str, list] = {}
        self.page: str | None = None
        self.hints, self.listed, self.said = 0, False, ""

    def start(self) -> None:
        """Check everything once, and open the first exercise to work on."""
        for chapter in self.chapters:
            self.console.print(f"checking {chapter} …", style="dim")
            found, _ = self.checker.check(chapter)
            self.by_exercise |= found
        self.open(first_to_work_on(self.course, self.by_exercise))

    def look(self) -> bool:
        """Check what has been saved since the last look; whether there was anything."""
        saved = self.saves.since_last()
        for path in saved:
            self.check(path)
        return bool(saved)

    def check(self, path: Path) -> None:
        """Check one file; go where something has changed, else stay or find its first one to do."""
        found, seconds = self.checker.check(path.stem)
        changed = [name for name in found if outcome(found[name]) != outcome(self.by_exercise.get(name, []))]
        self.by_exercise |= found
        self.said = f"{path.name}, {time.strftime('%H:%M:%S')}, checked in {seconds * 1000:.0f} ms"
        if changed and self.page not in changed:
            self.open(changed[0])
        elif self.page not in found:
            self.open(first_to_work_on(self.course, found) or self.page)
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
        left = [name for name in order[here:] + order[:here] if state_of(self.by_exercise[name]) != "done"]
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
            show_exercise(self.console, self.course, self.page, self.by_exercise, self.folder, self.hints)
        for said in (said for chapter in self.checker.left_out.values() for said in chapter):
            self.console.print(f"\n{said}", style="yellow", markup=False)
        show_keys(self.console, self.said)

    def close(self) -> None:
        """End what is kept warm."""
        self.checker.close()


def outcome(checks: list) -> list:
    """What a change of an exercise would change: which checks pass, and what the others say."""
    results = [check.tensorgrade for check in checks]
    return [result.diagnosis.said if result.diagnosis else result.passed for result in results]


def exercises(course) -> list[str]:
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
