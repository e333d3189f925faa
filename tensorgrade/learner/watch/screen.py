"""The terminal of `tensorgrade watch`: the page that it shows and the keys that it reads."""

import os
import select
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...attempts.results import CheckResult, State, first_failure, state_of
from ...course import Course
from ...views.hints import print_hints
from ...views.note import Note
from ...views.summary import (
    ALL_DONE,
    Results,
    print_chapter,
    print_ending,
    print_progress,
    print_start,
)
from ...views.words import place_in_file

KEYS = "h hint   n next   l {}   q quit"


def show_exercise(
    console: Console,
    course: Course,
    name: str | None,
    by_exercise: Results,
    folder: Path,
    hints: int,
) -> None:
    """Print the chapter of an exercise and the note on it; None means that everything is done."""
    if name is None:
        print_progress(console, course, by_exercise)
        console.print(f"\n[bold green]{ALL_DONE}[/]")
        return
    chapter, exercise = course.exercise(name)
    print_chapter(console, chapter, by_exercise)
    where = place_in_file(folder / f"{chapter.name}.py", name)
    console.print()
    state = state_of(by_exercise[name])
    if state == State.DONE:
        if all(state_of(by_exercise[e.name]) == State.DONE for e in chapter.exercises):
            print_ending(console, course, chapter)
        else:
            console.print(Text(f"✓ {name} is done", "bold green"))
        console.print(Text("  n: the next one", "dim"))
        return
    if state == State.TO_DO:
        first = first_failure(by_exercise[name])
        print_start(console, name, where, first, again="This page follows each save.")
    else:
        show_note(console, name, where, by_exercise[name])
    print_hints(console, exercise.hints, hints, more="press h")


def show_note(console: Console, name: str, where: str, checks: list[CheckResult]) -> None:
    """Print the note on a wrong exercise."""
    console.print(Text.assemble((name, "bold"), (f"  ({where})", "dim")))
    console.print()
    first = first_failure(checks)
    if first is None or first.finding is None:
        console.print("  The check itself failed; please tell your instructor.")
    else:
        Note(first.finding).print(console)


def show_keys(console: Console, checked: str, listed: bool) -> None:
    """Print the last lines: the last check and the keys. listed: `l` leads back to the exercise."""
    console.print()
    if checked:
        console.print(Text(checked, "dim"))
    console.print(Text(KEYS.format("back" if listed else "list"), "bold"))


class Keys:
    """The terminal's keys, as a context: `next(seconds)` returns a key, or None after that time."""

    def __enter__(self) -> "Keys":
        self.tty = sys.stdin is not None and sys.stdin.isatty()
        self.before = None
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

    def next(self, seconds: float) -> str | None:
        """Return the next key, waiting at most this many seconds."""
        if not self.tty:
            time.sleep(seconds)
            return None
        if sys.platform == "win32":
            return from_console(seconds)
        return self.from_terminal(seconds)

    def from_terminal(self, seconds: float) -> str | None:
        """Read a key on Linux and macOS. A closed terminal counts as `q`."""
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


# A type checker reads only the branch for the system that it runs on.
if sys.platform == "win32":
    import msvcrt

    def from_console(seconds: float) -> str | None:
        """Read a key from a Windows console."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if msvcrt.kbhit():
                return msvcrt.getwch()
            time.sleep(0.01)
        return None
