"""The main loop of `tensorgrade watch`: wait for a save or a key, then redraw the page."""

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text
from watchfiles import watch as changes_in

from ...attempts.results import CheckResult, Results, State, state_of
from ...course import CourseError
from ...judging.diagnosis import Finding
from ...views.summary import first_to_work_on, print_progress
from ..kit import NO_EDITOR, open_in_editor
from .checker import Checker
from .screen import KEYS, KEYS_AND_MORE, Keys, Page, View

TICK = 40  # milliseconds between two looks at the keys and the window's size
STILL = 60  # milliseconds without changes after which a saved file counts as complete
# Seconds until a file counts as complete if its end is new, or if it is empty. Many editors empty a
# file before they write it again.
WAIT_FOR_END, WAIT_FOR_TEXT = 0.5, 2.0


class Watch:
    """The learner's files, their latest checks, and the exercise on the page.

    plain: print sentences instead of drawing pages (default: if the console is not a terminal).
    """

    def __init__(self, tests: Path, folder: Path, console: Console, plain: bool | None = None):
        self.console, self.folder = console, folder
        self.plain = not console.is_terminal if plain is None else plain
        self.checker = Checker(tests, folder)
        self.course = self.checker.course
        self.chapters = [c.name for c in self.course.chapters if self.checker.path(c.name).exists()]
        self.texts = {self.checker.path(name): b"" for name in self.chapters}  # as last checked
        # Saved files: when to check them, and the text that was judged complete.
        self.due: dict[Path, tuple[float, bytes]] = {}
        self.by_exercise: Results = {}
        self.left_out: dict[str, list[str]] = {}  # by chapter: notes on code that could not be run
        self.page: str | None = None
        self.view, self.status = View(), ""
        self.live: Live | None = None
        self.keys = Keys()
        self.drawn_for: object = None

    def start(self) -> None:
        """Check all chapters once, and open the first exercise to work on."""
        found: Results = {}
        for path in self.texts:
            self.say(f"checking {path.name} …")
            self.texts[path] = read(path)
            results, self.left_out[path.stem] = self.checker.check(path.stem)
            found |= results
        self.by_exercise, self.status = found, ""
        self.saved(path for path, text in self.texts.items() if read(path) != text)
        self.open(first_to_work_on(self.course, self.by_exercise))

    def saved(self, paths: Iterable[Path]) -> None:
        """Plan to check the files that have changed, later if a file may be half-written."""
        for path in self.texts.keys() & set(paths):
            text = read(path)
            whole = end_of(text) == end_of(self.texts[path]) != b""
            wait = 0.0 if whole else WAIT_FOR_END if text.strip() else WAIT_FOR_TEXT
            self.due[path] = time.monotonic() + wait, text

    def look(self) -> bool:
        """Check the saved files that are complete by now. Return True if there were any."""
        now, before = time.monotonic(), self.by_exercise
        paths = [path for path, (due, _) in self.due.items() if due <= now]
        results = [found for path in paths if (found := self.check(path))]
        for found in results:
            self.by_exercise = self.by_exercise | found
        if results:
            self.turn(before, results[0])
        return bool(results)

    def check(self, path: Path) -> Results:
        """Check one file. Return nothing if it has changed since it was judged complete."""
        _, text = self.due.pop(path)
        if read(path) != text:
            self.saved([path])
            return {}
        # Until the result is there, the old page must not look like the result of this save.
        self.say(f"checking {path.name} …")
        began = time.monotonic()
        results, left_out = self.checker.check(path.stem)
        took = f"checked in {1000 * (time.monotonic() - began):.0f} ms"
        if read(path) != text:
            self.saved([path])
            return {}
        self.texts[path], self.left_out[path.stem] = text, left_out
        self.status = f"{path.name}, {time.strftime('%H:%M:%S')}, {took}"
        return results

    def turn(self, before: Results, saved: Results) -> None:
        """Open the first changed exercise; if there is none, show the saved chapter."""
        changed = [
            name
            for name in self.course.exercise_names
            if outcome(self.by_exercise.get(name, [])) != outcome(before.get(name, []))
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
            self.view = replace(self.view, hints=self.view.hints + 1, listed=False, turns=0)
        elif key == "e":
            self.view = replace(self.view, turns=self.view.turns + 1)
        elif key == "l":
            self.view = replace(self.view, listed=not self.view.listed, turns=0)
        elif key == "n":
            self.open(self.following())
            return True
        elif key == "o":
            self.edit()
        self.draw()
        return True

    def edit(self) -> None:
        """Open the page's line in an editor, which has the terminal until it ends."""
        page = Page(self.course, self.page, self.by_exercise, self.folder)
        if self.live is not None:
            self.live.stop()
        try:
            with self.keys.lent():
                opened = open_in_editor(page.path, page.line)
            self.status = f"opened line {page.line}" if opened else NO_EDITOR
        except CourseError as error:
            self.status = str(error)
        except FileNotFoundError:
            self.status = f"{page.path.name} is missing"
        if self.live is not None:
            self.live.start()

    def following(self) -> str | None:
        """Return the next exercise that is not done; continue at the top after the last one."""
        order = [name for name in self.course.exercise_names if name in self.by_exercise]
        here = order.index(self.page) + 1 if self.page in order else 0
        left = [
            name
            for name in order[here:] + order[:here]
            if state_of(self.by_exercise[name]) != State.DONE
        ]
        return left[0] if left else None

    def open(self, name: str | None) -> None:
        """Turn to the page of an exercise; None is the page of the finished course."""
        hints = self.view.hints if name == self.page else 0
        self.page, self.view = name, View(hints)
        self.draw()

    def say(self, status: str) -> None:
        """Show a status line: below the page, or alone if there is no page yet."""
        self.status = status
        if self.live is None:
            self.console.print(status, style="dim")
        elif self.by_exercise:
            self.draw()
        else:
            self.live.update(Text(status, "dim"), refresh=True)

    def draw(self) -> None:
        """Draw the whole page again, or print it as sentences."""
        page = Page(self.course, self.page, self.by_exercise, self.folder)
        self.drawn_for = self.console.size
        foot = [Text(one, "yellow") for one in chain.from_iterable(self.left_out.values())]
        foot += [Text(self.status, "dim")] if self.status else []
        if self.plain:
            foot.append(Text(KEYS, "bold"))
            told = [*page.sentences(self.view), "", *(line.plain for line in foot)]
            # A path stays in one piece, so that it can be clicked or copied.
            text = "\n".join(told)
            self.console.print(text, markup=False, overflow="ignore", crop=False)
            return
        width, height = self.console.size
        colour = self.console.color_system is not None
        foot = [Text(""), *foot, Text(KEYS_AND_MORE, "bold")]
        if page.fits(self.view, foot, width - 2, height):
            foot[-1] = Text(KEYS, "bold")
        lines = page.lines(self.view, foot, width - 2, height, colour)
        shown = Group(*(Text(" ") + line for line in lines))
        if self.live is None:
            self.console.print(shown)
        else:
            self.live.update(shown, refresh=True)

    def watch(self) -> None:
        """Draw on the terminal's other screen until `q` is pressed."""
        with ExitStack() as stack:
            keys = stack.enter_context(self.keys)
            if not self.plain:
                screen = Live(console=self.console, screen=True, auto_refresh=False)
                self.live = stack.enter_context(screen)
            self.start()
            for paths in self.saves():
                self.saved(paths)
                self.look()
                while (key := keys.next()) is not None:
                    if not self.press(key):
                        return
                if self.live is not None and self.console.size != self.drawn_for:
                    self.draw()

    def saves(self) -> Iterator[list[Path]]:
        """Yield the files that have been saved, every few milliseconds."""
        for changes in changes_in(
            self.folder,
            watch_filter=None,
            recursive=False,
            step=STILL,
            rust_timeout=TICK,
            yield_on_timeout=True,
        ):
            names = {Path(path).name for _, path in changes}
            yield [path for path in self.texts if path.name in names]

    def close(self) -> None:
        """Close the fork server, and leave the state of the chapters on the terminal."""
        self.live = None
        self.checker.close()
        print_progress(self.console, self.course, self.by_exercise, plain=self.plain)


def outcome(checks: list[CheckResult]) -> list[tuple]:
    """Return a value that differs if another check fails, or if a failure has another reason."""
    return [(check.passed, *(said(check.finding) if check.finding else ())) for check in checks]


def said(finding: Finding) -> tuple:
    """Return everything that distinguishes two failures, including the learner's own values."""
    diagnosis = finding.diagnosis
    values = () if diagnosis.actual is None else diagnosis.actual.tolist()
    told = (diagnosis.problem, finding.earlier, diagnosis.observations)
    return *finding.mistakes, *told, str(values)


def watch(tests: Path, folder: Path, plain: bool | None = None) -> None:
    """Watch a folder until `q` is pressed."""
    session = Watch(tests, folder, Console(highlight=False), plain)
    try:
        session.watch()
    except KeyboardInterrupt:
        pass
    finally:
        session.close()


def end_of(text: bytes) -> bytes:
    """Return the end of a text, without trailing blanks."""
    return text.rstrip()[-40:]


def read(path: Path) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
