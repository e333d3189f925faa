"""The loop: wait for a save or a key, check or turn the page, show it."""

import time
from itertools import chain
from pathlib import Path

from rich.console import Console

from ...attempts.results import CheckResult, State, state_of
from ...course import Course
from ...judging.diagnosis import Finding
from ...views.summary import Results, first_to_work_on, print_progress
from .checker import Checker
from .screen import Keys, show_exercise, show_keys

# Seconds.
LOOK_EVERY = 0.02
STILL = 0.06  # that a file must have stayed as it was read
STILL_LONG = 0.5  # the same of a file that may be half-written
STILL_EMPTY = 2.0  # the same of one without any text: nearly always an editor is about to write it
OFTEN = 50  # looks at such a file: on a busy machine time goes by in which no editor could write


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
        self.left_out: dict[str, list[str]] = {}  # by chapter: what of its file could not be run
        self.page: str | None = None
        self.hints, self.listed, self.checked = 0, False, ""

    def start(self) -> None:
        """Check everything once, and open the first exercise to work on."""
        for chapter in self.chapters:
            self.console.print(f"checking {chapter} …", style="dim")
            results, self.left_out[chapter] = self.checker.check(chapter)
            self.by_exercise |= results
        self.open(first_to_work_on(self.course, self.by_exercise))

    def look(self) -> bool:
        """Check what has been saved since the last look; whether there was anything."""
        before, saved = self.by_exercise, self.saves.since_last()
        results = [found for path in saved if (found := self.check(path))]
        for found in results:
            self.by_exercise = self.by_exercise | found
        if results:
            self.turn(before, results[0])
        return bool(results)

    def check(self, path: Path) -> Results:
        """Check one file; nothing where it went on changing: then the next look finds it again."""
        # Until the verdict is there, nobody is to take the page for what has just been saved.
        self.console.print(f"checking {path.name} …", style="dim")
        began, text = time.monotonic(), read(path)
        results, left_out = self.checker.check(path.stem)
        took = f"checked in {1000 * (time.monotonic() - began):.0f} ms"
        if not self.saves.settled(path, text, began):
            return {}
        self.left_out[path.stem] = left_out
        self.checked = f"{path.name}, {time.strftime('%H:%M:%S')}, {took}"
        return results

    def turn(self, before: Results, saved: Results) -> None:
        """Go to the first exercise that has changed; else stay, or find the first to do there."""
        changed = [
            name
            for name in exercises(self.course)
            if is_other(self.by_exercise.get(name, []), before.get(name, []))
        ]
        if changed:
            self.open(changed[0])
        elif self.page not in saved:
            self.open(first_to_work_on(self.course, saved) or self.page)
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
        for sentence in chain.from_iterable(self.left_out.values()):
            self.console.print(f"\n{sentence}", style="yellow", markup=False)
        show_keys(self.console, self.checked, self.listed)

    def close(self) -> None:
        """End what is kept warm."""
        self.checker.close()


def is_other(checks: list[CheckResult], before: list[CheckResult]) -> bool:
    """Whether an exercise has changed. What was not run again is the very same."""
    return checks is not before and outcome(checks) != outcome(before)


def outcome(checks: list[CheckResult]) -> list[tuple]:
    """What a change of an exercise would change: which checks pass, and what the others saw."""
    return [(check.passed, *(said(check.finding) if check.finding else ())) for check in checks]


def said(finding: Finding) -> tuple:
    """All that tells one failure from another, the learner's own values too."""
    diagnosis = finding.diagnosis
    values = () if diagnosis.actual is None else diagnosis.actual.tolist()
    return *finding.mistakes, diagnosis.problem, diagnosis.where, diagnosis.remarks, str(values)


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
    """Some files: how each of them looked the last time, and its text when that was believed.

    Many editors empty a file before they write it anew. What stands there in between is no save.
    """

    def __init__(self, paths: list[Path]):
        self.seen = {path: look(path) for path in paths}
        self.texts = {path: read(path) for path in paths}

    def since_last(self) -> list[Path]:
        """The files that have changed since this was last asked."""
        now = {path: look(path) for path in self.seen}
        changed = [path for path, state in now.items() if state != self.seen[path]]
        self.seen = now
        return changed

    def settled(self, path: Path, text: bytes, since: float) -> bool:
        """Whether a file that looked changed stays like that, and still holds this text.

        since: when it was read, on the monotonic clock. Waits until that can be told: longer where
        the end is not what it was, as in a file that is written up to its middle.
        """
        whole = end_of(text) == end_of(self.texts[path]) != b""
        still = STILL if whole else STILL_LONG if text.strip() else STILL_EMPTY
        until, looks = since + still, 0
        while look(path) == self.seen[path]:
            if time.monotonic() >= until and (whole or looks >= OFTEN):
                break
            time.sleep(LOOK_EVERY / 4)
            looks += 1
        else:
            return False
        if read(path) != text:
            return False
        self.texts[path] = text
        return True


def end_of(text: bytes) -> bytes:
    """The last words of a file."""
    return text.rstrip()[-40:]


def read(path: Path) -> bytes:
    """What a file holds; nothing where there is none."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def look(path: Path) -> tuple[int, int, int] | None:
    """(time in ns, size in bytes, inode); None where there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
