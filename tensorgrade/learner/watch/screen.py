"""The terminal of `tensorgrade watch`: pages that fit the window, and keys.

For screen readers a page is sentences without drawings.
"""

import io
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ...attempts.results import Results, State, first_failure, state_of
from ...course import Chapter, Course, Exercise
from ...views.comparison import MOST
from ...views.hints import print_hints
from ...views.note import Note
from ...views.points import earned, standing
from ...views.summary import (
    note_on,
    points_of,
    print_chapter,
    print_end_of_course,
    print_ending,
    print_line,
    start_of,
)
from ...views.words import place_in_file
from ..kit import line_to_edit

KEYS = "h hint   n next   o open   l list   q quit"
KEYS_AND_MORE = "h hint   n next   e more   o open   l list   q quit"
AGAIN = "Each save is checked."
PLAIN_WIDTH = 80


@dataclass(frozen=True)
class View:
    """The parts of a page to show. hints: their number. listed: show the list of exercises instead.

    turns: how often the reader has asked for the part of the page that does not fit.
    """

    hints: int = 0
    listed: bool = False
    turns: int = 0


class Page:
    """The page of one exercise, or of the finished course if `name` is None."""

    def __init__(self, course: Course, name: str | None, by_exercise: Results, folder: Path):
        self.course, self.name, self.by_exercise, self.folder = course, name, by_exercise, folder
        self.note: Note | None = None
        if name is not None and state_of(by_exercise[name]) == State.WRONG:
            self.note = note_on(name, by_exercise[name], self.path)

    @property
    def chapter(self) -> Chapter:
        """The chapter of the exercise."""
        return self.course.exercise(self.name)[0] if self.name else self.course.chapters[-1]

    @property
    def exercise(self) -> Exercise:
        """The exercise."""
        assert self.name is not None
        return self.course.exercise(self.name)[1]

    @property
    def path(self) -> Path:
        """The learner's file."""
        return self.folder / f"{self.chapter.name}.py"

    @property
    def line(self) -> int:
        """The line of the file to open in an editor."""
        if self.note is not None and self.note.line:
            return self.note.line
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return line_to_edit(text, self.name) if self.name else 1

    def sentences(self, view: View) -> list[str]:
        """Return the page without drawing characters, for a screen reader."""
        if view.listed:
            listed = drawn(lambda console: self.print_list(console, plain=True), PLAIN_WIDTH)
            return [line.plain for line in listed]
        hints = self.hints(view, PLAIN_WIDTH)
        if self.note is None:
            return [line.plain for line in self.top(PLAIN_WIDTH)] + hints
        return [self.title(), self.points(), *self.note.in_sentences(), *hints]

    def lines(
        self, view: View, foot: list[Text], width: int, height: int, colour: bool
    ) -> list[Text]:
        """Return the page with its foot, in lines that fit a window.

        In short, the page of a wrong exercise has its whole top and as much of the evidence as
        fits. Each turn shows another part of the whole page; after the last one it is short again.
        """
        foot = [line for text in foot for line in wrapped(text, width)[:2]]
        room = height - len(foot)
        parts = self.parts(view, room, width, colour)
        shown = parts[view.turns % len(parts)]
        return [*shown, *[Text("")] * (room - len(shown)), *foot]

    def fits(self, view: View, foot: list[Text], width: int, height: int) -> bool:
        """Return True if the whole page fits into a window, so that there is no part to turn to."""
        room = height - sum(len(wrapped(text, width)[:2]) for text in foot)
        return len(self.parts(view, room, width, False)) == 1

    def parts(self, view: View, room: int, width: int, colour: bool) -> list[list[Text]]:
        """Return the parts of the page, which fit into `room` lines. The short page comes first."""
        if view.listed:
            return in_parts(drawn(self.print_list, width, colour), room)
        top = self.top(width, colour) + [Text(one) for one in self.hints(view, width)]
        body = self.note.body(width, colour) if self.note else []
        whole = top + [line for text in body for line in wrapped(text, width)]
        if self.note is None or len(whole) <= room:
            return in_parts(whole, room)
        evidence = self.evidence(self.note, room - len(top), width, colour)
        return [(top + evidence)[:room], *in_parts(whole, room)]

    def top(self, width: int, colour: bool = False) -> list[Text]:
        """Return the lines that are always visible: the exercise, what is wrong, and where."""
        if self.name is None:
            return drawn(lambda console: print_end_of_course(console, self.course), width, colour)
        checks = self.by_exercise[self.name]
        if self.note is not None:
            texts = [Text(self.title(), "bold"), Text(self.points(), "dim"), *self.note.top()]
        elif state_of(checks) == State.DONE:
            return drawn(self.print_done, width, colour)
        else:
            where = place_in_file(self.path, self.name)
            texts = start_of(self.name, where, first_failure(checks), AGAIN)
        return [line for text in texts for line in wrapped(text, width)]

    def title(self) -> str:
        """Return the exercise and its state."""
        assert self.name is not None
        return f"{self.name}: {standing(self.by_exercise[self.name])}"

    def points(self) -> str:
        """Return a line that explains the exercise's points."""
        checks = self.by_exercise[self.exercise.name]
        return points_of(self.exercise, checks, self.course, self.by_exercise)

    def hints(self, view: View, width: int) -> list[str]:
        """Return the hints that were asked for, and how to get one more."""
        if self.name is None or state_of(self.by_exercise[self.name]) == State.DONE:
            return []
        if not self.path.exists():
            return ["", f"To get your file back: tensorgrade reset {self.chapter.name}"]
        hints = self.exercise.hints
        lines = drawn(lambda console: print_hints(console, hints, view.hints, "press h"), width)
        return [line.plain for line in lines]

    def evidence(self, note: Note, room: int, width: int, colour: bool) -> list[Text]:
        """Return as much as fits: the values, what to think about, and the evidence."""
        thoughts = [line for text in note.bullets() for line in wrapped(text, width)]
        for rows in range(MOST, 0, -1):
            texts = note.compared(width, colour, rows)
            values = [line for text in texts for line in wrapped(text, width)]
            if len(values) + len(thoughts) + 3 <= room:
                break
        else:
            values = []  # what to think about matters more
        facts = [line for text in note.facts() for line in wrapped(text, width)]
        sections = (values, thoughts, facts)
        lines = [line for one in sections if one for line in (Text(""), *one)]
        if len(lines) <= room:
            return lines
        shown = lines[: max(0, room - 1)]
        return [*shown, Text(f"… {len(lines) - len(shown)} more lines: press e", "dim")]

    def print_list(self, console: Console, plain: bool = False) -> None:
        """Print all chapters, and the exercises of this one."""
        for chapter in self.course.chapters:
            shown = [e for e in chapter.exercises if e.name in self.by_exercise]
            if shown and chapter == self.chapter:
                print_chapter(console, chapter, self.by_exercise, plain=plain)
            elif shown:
                points = sum(earned(self.by_exercise[e.name]) for e in shown)
                print_line(console, chapter.title, points, chapter.points, plain)

    def print_done(self, console: Console) -> None:
        """Print that an exercise is done, or congratulations if its chapter is."""
        done = (state_of(self.by_exercise[e.name]) for e in self.chapter.exercises)
        if all(state == State.DONE for state in done):
            print_ending(console, self.course, self.chapter)
        else:
            console.print(Text(f"✓ {self.name} is done", "bold green"))
            console.print(Text(self.points(), "dim"))
        console.print(Text("\nPress n for the next one.", "bold"))


def wrapped(text: Text, width: int) -> list[Text]:
    """Return the lines of a text in a window of this width; an empty text is a blank line."""
    return list(text.wrap(Console(width=width), width)) or [Text("")]


def drawn(draw: Callable[[Console], None], width: int, colour: bool = False) -> list[Text]:
    """Return the lines that a function prints."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width,
        highlight=False,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        force_jupyter=False,
    )
    draw(console)
    return [Text.from_ansi(line) for line in file.getvalue().rstrip("\n").split("\n")]


def in_parts(lines: list[Text], room: int) -> list[list[Text]]:
    """Return lines in parts that fit, each with its number if there are several."""
    if len(lines) <= room:
        return [lines]
    size = max(1, room - 1)
    starts = range(0, len(lines), size)
    return [
        [*lines[at : at + size], Text(f"part {n} of {len(starts)}: e shows the next", "dim")]
        for n, at in enumerate(starts, 1)
    ]


class Keys:
    """The terminal's keys, as a context: `next(seconds)` returns a key, or None after that time."""

    tty, before = False, None

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

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the terminal to another program, in its usual mode."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def next(self, seconds: float = 0.0) -> str | None:
        """Return the next key, waiting at most this many seconds. A closed terminal is a `q`."""
        if not self.tty:
            return None
        if sys.platform == "win32":
            return from_console(seconds)
        if not select.select([sys.stdin], [], [], seconds)[0]:
            return None
        return os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q"


# A type checker reads only the branch for the system that it runs on.
if sys.platform == "win32":
    import msvcrt

    def from_console(seconds: float) -> str | None:
        """Read a key from a Windows console."""
        deadline = time.monotonic() + seconds
        while not msvcrt.kbhit():
            if time.monotonic() >= deadline:
                return None
            time.sleep(0.01)
        return msvcrt.getwch()
