"""The main loop of `tensorgrade watch`: wait for a save or a key, then update the page."""

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
STILL = 0.06  # time without changes after which a saved file counts as complete
STILL_LONG = 0.5  # the same for a file that may be half-written
STILL_EMPTY = 2.0  # the same for an empty file: usually an editor is about to write it
OFTEN = 50  # minimum number of looks at such a file, because a busy machine also delays the editor


class Watch:
    """The learner's files, their latest checks, and the exercise on the page.

    console: the console to print to. Every public action redraws the page.
    """

    def __init__(self, tests: Path, folder: Path, console: Console):
        self.console, self.folder = console, folder
        self.checker = Checker(tests, folder)
        self.course = self.checker.course
        self.chapters = [c.name for c in self.course.chapters if self.checker.path(c.name).exists()]
        self.saves = Saves([self.checker.path(chapter) for chapter in self.chapters])
        self.by_exercise: Results = {}
        self.left_out: dict[str, list[str]] = {}  # by chapter: notes on code that could not be run
        self.page: str | None = None
        self.hints, self.listed, self.checked = 0, False, ""

    def start(self) -> None:
        """Check all chapters once, and open the first exercise to work on."""
        for chapter in self.chapters:
            self.console.print(f"checking {chapter} …", style="dim")
            results, self.left_out[chapter] = self.checker.check(chapter)
            self.by_exercise |= results
        self.open(first_to_work_on(self.course, self.by_exercise))

    def look(self) -> bool:
        """Check the files saved since the last look. Return True if there were any."""
        before, saved = self.by_exercise, self.saves.since_last()
        results = [found for path in saved if (found := self.check(path))]
        for found in results:
            self.by_exercise = self.by_exercise | found
        if results:
            self.turn(before, results[0])
        return bool(results)

    def check(self, path: Path) -> Results:
        """Check one file. Return nothing if it changed meanwhile; the next look finds it again."""
        # Until the result is there, the old page must not look like the result of this save.
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
        """Open the first changed exercise; if there is none, show the saved chapter."""
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
        """Run a key's command. Return False for the keys that quit."""
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
        """Return the next exercise that is not done; continue at the top after the last one."""
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
        """Draw the whole page again."""
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
        """Close the warm process."""
        self.checker.close()


def is_other(checks: list[CheckResult], before: list[CheckResult]) -> bool:
    """Return True if an exercise's outcome has changed. Reused results are the same object."""
    return checks is not before and outcome(checks) != outcome(before)


def outcome(checks: list[CheckResult]) -> list[tuple]:
    """Return what a change can affect: which checks pass, and the findings of the others."""
    return [(check.passed, *(said(check.finding) if check.finding else ())) for check in checks]


def said(finding: Finding) -> tuple:
    """Return everything that distinguishes two failures, including the learner's own values."""
    diagnosis = finding.diagnosis
    values = () if diagnosis.actual is None else diagnosis.actual.tolist()
    return *finding.mistakes, diagnosis.problem, diagnosis.where, diagnosis.remarks, str(values)


def exercises(course: Course) -> list[str]:
    """Return the names of all exercises in the course's order."""
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
    """The state of some files when they were last looked at, and their last complete text.

    Many editors empty a file before they write it again. The text in between is no save.
    """

    def __init__(self, paths: list[Path]):
        self.seen = {path: look(path) for path in paths}
        self.texts = {path: read(path) for path in paths}

    def since_last(self) -> list[Path]:
        """Return the files that have changed since the last call."""
        now = {path: look(path) for path in self.seen}
        changed = [path for path, state in now.items() if state != self.seen[path]]
        self.seen = now
        return changed

    def settled(self, path: Path, text: bytes, since: float) -> bool:
        """Return True if a changed file stays unchanged for a while and still holds this text.

        since: the time of reading, on the monotonic clock. The method waits until the file has been
        stable for long enough. It waits longer if the file's end is new or empty, because the file
        may be half-written.
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
    """Return the end of a text, without trailing blanks."""
    return text.rstrip()[-40:]


def read(path: Path) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def look(path: Path) -> tuple[int, int, int] | None:
    """Return (time in ns, size in bytes, inode); None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
