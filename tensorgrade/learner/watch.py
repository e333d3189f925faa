"""`tensorgrade watch`: check each saved file, print one exercise, and wait for a save or a key."""

import os
import select
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..attempts.results import CheckResult, Results, State, state_of
from ..course import CourseError
from ..judging.diagnosis import Finding
from ..views.hints import print_hints
from ..views.lessons import write_lessons
from ..views.points import Checked
from ..views.summary import (
    checked_in,
    first_to_work_on,
    print_checks,
    print_end_of_course,
    print_ending,
    print_page,
    print_progress,
)
from ..views.words import path_here
from .checker import TICK, Checker, stamp
from .kit import Kit, open_in_editor, reset

KEYS = "h hint  n next  b back  l list  c checks  o open  r read  x reset  q quit"
AGAIN = "Each save is checked."
QUIT = ("q", "\x03", "\x04")
STILL = 0.05  # seconds without a change after which a saved file counts as complete


class Watch:
    """The learner's files, their latest checks, and the exercise that is shown.

    plain: print sentences instead of drawings (default: if the console is not a terminal).
    """

    def __init__(self, kit: Kit, console: Console, plain: bool | None = None):
        self.kit, self.console, self.keys = kit, console, Keys()
        self.plain = not console.is_terminal if plain is None else plain
        self.checker = Checker(kit)
        self.course = self.checker.course
        self.results = Results()
        self.name: str | None = None  # the exercise that is shown; None: all are done
        self.hints, self.checks = 0, False  # how many hints are shown, and if the checks are
        self.press_for = {
            "h": self.hint,
            "n": lambda: self.show(self.following()),
            "b": lambda: self.show(self.order[self.order.index(self.name or self.order[0]) - 1]),
            "l": self.list,
            "c": self.list_checks,
            "o": self.edit,
            "r": self.read,
            "x": self.reset,
        }

    @property
    def order(self) -> list[str]:
        """The exercises that have a file, in the course's order."""
        return [name for name in self.course.exercise_names if name in self.results]

    def run(self) -> None:
        """Watch until a key quits. Raises CourseError if there is nothing to watch."""
        with self.keys:
            if not self.look():
                raise CourseError(f"there is no chapter's file in {self.kit.scripts}")
            while (key := self.keys.next(TICK)) not in QUIT:
                if key in self.press_for:
                    self.press(key)
                self.look()

    def look(self) -> bool:
        """Check the files that were saved since the last look. Return True if there were any."""
        saved, before = self.checker.changed(), self.results
        if not saved:
            return False
        self.console.clear()  # the old page must not look like the result of this save
        began = time.monotonic()
        for chapter in saved:
            self.console.print(f"checking {chapter}.py …", style="dim")
            self.wait_until_complete(chapter)
            self.results = self.results | self.checker.check(chapter)
        seconds = time.monotonic() - began
        files = ", ".join(f"{chapter}.py" for chapter in saved[:2]) + " …" * (len(saved) > 2)
        said = f"{files}: checked at {time.strftime('%H:%M:%S')}, in {seconds:.1f} s"
        self.show(self.to_show(before, saved), said)
        return True

    def wait_until_complete(self, chapter: str) -> None:
        """Wait until an editor has written all of a file. Many editors empty it first."""
        path, before = self.kit.path(chapter), None
        while before != (before := stamp(path)):
            time.sleep(STILL)

    def to_show(self, before: Results, saved: list[str]) -> str | None:
        """Return the exercise to show after a check: of those that changed, the first wrong one.

        If none has changed, stay where the learner is, or go to the chapter that was saved.
        """
        own = [n for n in self.order if self.course.exercise(n)[0].name in saved]
        changed = [n for n in own if outcome(self.results[n]) != outcome(before.get(n, []))]
        if not changed and self.name in own:
            return self.name
        among = {name: self.results[name] for name in changed or own}
        if unfinished := first_to_work_on(self.course, among):
            return unfinished
        if before and changed:
            return changed[0]
        return self.name or first_to_work_on(self.course, self.results)

    def following(self) -> str | None:
        """Return the next exercise that is not done; continue at the top after the last one."""
        here = self.order.index(self.name) + 1 if self.name else 0
        around = self.order[here:] + self.order[:here]
        return next((n for n in around if state_of(self.results[n]) != State.DONE), None)

    def show(self, name: str | None, status: str = "") -> None:
        """Show an exercise; None is the page of the finished course."""
        if name != self.name:
            self.name, self.hints, self.checks = name, 0, False
        self.draw(status)

    def press(self, key: str) -> None:
        """Run a key's command, and report its error."""
        try:
            self.press_for[key]()
        except (CourseError, OSError) as error:
            self.draw(str(error))

    def hint(self) -> None:
        """Show one more hint."""
        self.hints += 1
        self.draw()

    def list_checks(self) -> None:
        """Show all checks of the exercise, or hide them."""
        self.checks = not self.checks
        self.draw()

    def list(self) -> None:
        """List all exercises, and ask for the one to go to."""
        self.console.clear()
        print_progress(self.console, self.course, self.results, self.plain, every=True)
        asked = self.ask("Go to (a part of its name; Enter goes back): ").lower()
        found = (name for name in self.order if asked and asked in name.lower())
        self.show(next(found, self.name))

    def reset(self) -> None:
        """Restore the exercise's stub after a question. The save is checked as any other."""
        if self.name and self.ask(f"Reset {self.name}? Your file is kept as a copy. (y) ") == "y":
            kept = reset(self.kit, self.name)
            self.draw(f"Your file is kept: {path_here(kept)}" if kept else "")
        else:
            self.draw()

    def read(self) -> None:
        """Open the lessons in a browser, at the exercise."""
        out = write_lessons(self.course, self.kit.root, self.results, self.kit.scripts)
        webbrowser.open(f"{out.resolve().as_uri()}#{self.name or ''}")
        self.draw(f"opened {path_here(out)}")

    def edit(self) -> None:
        """Open the line to look at in an editor, which has the terminal until it ends."""
        if self.name:
            checked = self.checked(self.name)
            with self.keys.lent():
                said = open_in_editor(Path(checked.path), checked.line_to_edit)
            self.draw(said)

    def checked(self, name: str) -> Checked:
        """Return an exercise with its checks."""
        return checked_in(self.kit.scripts, self.course, name, self.results[name])

    def ask(self, question: str) -> str:
        """Return the line that the learner types."""
        with self.keys.lent():
            try:
                return self.console.input(question, markup=False).strip()
            except EOFError:
                return ""

    def draw(self, status: str = "") -> None:
        """Clear the terminal and print the exercise, the notes on its file, and the keys."""
        self.console.clear()
        if self.name is None:
            print_end_of_course(self.console, self.course)
        else:
            self.print_exercise(self.name)
        left_out = [one for notes in self.checker.left_out.values() for one in notes]
        self.console.print()
        for note in left_out:
            self.console.print(Text(note, "yellow"))
        if status:
            self.console.print(Text(status, "dim"))
        self.console.print(Text(KEYS, "bold"))

    def print_exercise(self, name: str) -> None:
        """Print an exercise, with the checks and hints that were asked for."""
        chapter, checked = self.course.exercise(name)[0], self.checked(name)
        done = checked.state == State.DONE
        if done and all(state_of(self.results[e.name]) == State.DONE for e in chapter.exercises):
            print_ending(self.console, self.course, chapter)
        else:
            print_page(self.console, checked, AGAIN, self.plain)
        if self.checks:
            print_checks(self.console, checked.results, self.plain)
        if done:
            self.console.print(Text("\nPress n for the next one.", "bold"))
        else:
            print_hints(self.console, checked.exercise.hints, self.hints, "press h")

    def close(self) -> None:
        """End the processes, and leave the state of the chapters on the terminal."""
        self.checker.__exit__()
        self.console.clear()
        print_progress(self.console, self.course, self.results, self.plain)


def outcome(checks: list[CheckResult]) -> list[tuple]:
    """Return a value that differs if another check fails, or if a failure has another reason."""
    return [(check.passed, *(said(check.finding) if check.finding else ())) for check in checks]


def said(finding: Finding) -> tuple:
    """Return everything that distinguishes two failures, including the learner's own values."""
    diagnosis = finding.diagnosis
    values = None if diagnosis.actual is None else diagnosis.actual.tolist()
    return *finding.mistakes, diagnosis.problem, finding.earlier, str(values)


def watch(kit: Kit, plain: bool | None = None) -> None:
    """Watch a learner's scripts until `q` or Ctrl-C is pressed."""
    session = Watch(kit, Console(highlight=False), plain)
    try:
        session.run()
    except KeyboardInterrupt:
        pass
    finally:
        session.close()


class Keys:
    """The terminal's keys, as a context: `next(seconds)` returns a key, or "" after that time."""

    before = None  # the terminal's usual mode; None if there is no terminal, and on Windows

    def __enter__(self) -> "Keys":
        self.tty = sys.stdin is not None and sys.stdin.isatty()
        if self.tty and sys.platform != "win32":
            import termios
            import tty

            self.before = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        return self

    def __exit__(self, *exception: object) -> None:
        if self.before is not None:
            import termios

            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.before)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Give the terminal its usual mode for another program, or for a typed line."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def next(self, seconds: float) -> str:
        """Return the next key, waiting at most this many seconds. A closed terminal is a `q`."""
        if not self.tty:
            time.sleep(seconds)
            return ""
        if sys.platform == "win32":
            return from_console(seconds)
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return ""
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


# A type checker reads only the branch for the system that it runs on.
if sys.platform == "win32":
    import msvcrt

    def from_console(seconds: float) -> str:
        """Read a key from a Windows console."""
        if not msvcrt.kbhit():
            time.sleep(seconds)
        return msvcrt.getwch() if msvcrt.kbhit() else ""
