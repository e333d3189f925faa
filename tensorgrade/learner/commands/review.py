"""Serve the learner's own code with a mistake in it that the learner has made before, days later.

A small edit of code counts if its results have the mistake's fingerprint. So the kit needs no
solution and no wrong version of one.
"""

import ast
import json
import random
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ...attempts.attempt import Attempt
from ...attempts.results import CheckResult, State, first_failure
from ...attempts.scoring import results_on
from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.text import sentence
from ...history import History
from ...recognition.fingerprints import Fingerprint
from ...recognition.signatures import imprint
from ...runner.edits import changes_of
from ...runner.source import Source
from ...runner.syntax import IMPORTS, statements
from ...views.words import plural
from ..kit import NO_EDITOR, Kit, definition_in, open_in_editor
from ..watch.checker import Checker

WAITS = (1, 3, 7, 21)  # days until a mistake comes back, if it was found never, once, twice, …
AT_ONCE, SECONDS, MOST = 10, 30, 3  # edits in a request; for one mistake: time, edits to prove
ODD = re.compile(r"--|-0\b(?!\.)|\.bool\(\)")  # edits write this, and learners hardly do
KEYS = "Enter checks it · h hint · l show the line · e open the editor · q stop"
NOTHING_NAMED = (
    "No mistake of yours has been named yet, so there is nothing to review. `tensorgrade watch` "
    "and `pytest exercises/` remember the mistakes that they name."
)
ABOVE = '''"""Review: your own {exercise}, with one mistake in it that you have made before.

Find it, change only that, save, and press Enter in the terminal.
"""

{imports}


'''


@dataclass(frozen=True)
class Item:
    """A find-the-bug exercise. text, line: the file to repair, and the line of the mistake."""

    mistake: str
    message: str
    exercise: str
    text: str
    line: int


@dataclass
class Known:
    """A mistake of the learner.

    exercise: where it was last named. day: when it was last named or found, in ISO format. found:
    how many times it was found without help since it was named.
    """

    exercise: str
    day: str
    found: int = 0

    @property
    def due(self) -> date:
        """Return the day on which the mistake comes back."""
        wait = WAITS[min(self.found, len(WAITS) - 1)]
        return date.fromisoformat(self.day) + timedelta(days=wait)


class Review:
    """A session. known: the learner's mistakes by name. item: the exercise that is open."""

    def __init__(self, kit: Kit, console: Console):
        self.kit, self.console, self.today = kit, console, date.today()
        self.file = kit.own / "review.json"
        self.known: dict[str, Known] = {}
        self.item: Item | None = None
        with suppress(
            OSError, ValueError, TypeError, KeyError, AttributeError
        ):  # missing or damaged
            told = json.loads(self.file.read_text(encoding="utf-8"))
            known = {name: Known(**one) for name, one in told["known"].items() if Known(**one).due}
            self.item, self.known = Item(**told["item"]) if told["item"] else None, known
        entries = History(kit.root).entries()
        self.states = {entry.exercise: entry.state for entry in entries}
        for entry in entries:
            day = entry.time.astimezone().date().isoformat()
            for name in entry.mistakes:
                if name not in self.known or day > self.known[name].day:
                    self.known[name] = Known(entry.exercise, day)

    def run(self, every: bool) -> None:
        """Serve the exercise that is open and the mistakes that are due, until the learner stops.

        every: serve all mistakes, due or not.
        """
        due = sorted(self.known, key=lambda name: self.known[name].due)
        due = [name for name in due if every or self.known[name].due <= self.today]
        if self.item:
            due = [self.item.mistake, *(name for name in due if name != self.item.mistake)]
        if not due:
            self.say_when()
            return
        self.checker = Checker(self.kit.exercises, self.kit.exercises)
        try:
            self.serve_all(due)
        finally:
            self.checker.close()

    def serve_all(self, due: list[str]) -> None:
        """Serve an exercise for each of these mistakes that fits code which is right."""
        unfit = 0
        for number, mistake in enumerate(due, 1):
            item = self.item or self.made(mistake)
            unfit += item is None
            if item and not self.serve(item, f"{number} of {len(due)}"):
                return
        if unfit:
            self.say(f"{plural(unfit, 'mistake')}: no code that you have passed so far fits.")

    def say_when(self) -> None:
        """Say when the next mistake is due, or that there is none."""
        if not self.known:
            self.say(NOTHING_NAMED)
            return
        first = min(self.known.values(), key=lambda one: one.due)
        self.say(f"Nothing is due today. The next review is {self.when(first)}.")
        self.say("To practise without waiting: tensorgrade review --all")

    def serve(self, item: Item, number: str) -> bool:
        """Let the learner repair one exercise. Return False if the learner stops."""
        path = self.kit.root / "review" / f"{item.exercise}.py"
        if item != self.item or not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(item.text, encoding="utf-8")
        self.item = item
        self.save()
        title = f"{number}: your own {item.exercise}, with one mistake that you have made before"
        self.say(title, "bold")
        self.say(f"Find it in review/{path.name}, change only that, and save.\n{KEYS}")
        helped = False
        while (key := self.key()) != "q":
            helped |= key in ("h", "l")
            if key == "h":
                self.say(item.message)
            elif key == "l":
                self.say(f"The mistake is on line {item.line} of {path.name}.")
            elif key == "e":
                self.say("" if open_in_editor(path, item.line) else NO_EDITOR)
            elif self.is_repaired(item, path):
                self.found(item, helped)
                path.unlink()
                return True
        self.say("This exercise stays open: `tensorgrade review` continues with it.")
        return False

    def key(self) -> str:
        """Return the letter that the learner types; `q` at the end of the input."""
        try:
            return self.console.input("> ").strip().lower()
        except (EOFError, KeyboardInterrupt):
            return "q"

    def is_repaired(self, item: Item, path: Path) -> bool:
        """Check a repair; if it is not right, say why."""
        try:
            results = self.results(item.exercise, path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            self.say(str(error), "yellow")
            return False
        failed = first_failure(results)
        if failed:
            said = sentence(failed.finding.diagnosis.problem) if failed.finding else ""
            self.say(f"Not yet. {said}", "yellow")
        return not failed

    def found(self, item: Item, helped: bool) -> None:
        """Record that a mistake was found, and say when it comes back."""
        known = self.known[item.mistake]
        known.found, known.day = 0 if helped else known.found + 1, self.today.isoformat()
        self.item = None
        self.save()
        self.say("Found.", "bold green")
        self.say(f"{item.message}\nYou meet this mistake again {self.when(known)}.")

    def save(self) -> None:
        """Write the learner's mistakes and the open exercise to a local file."""
        known = {name: asdict(one) for name, one in self.known.items()}
        told = {"known": known, "item": asdict(self.item) if self.item else None}
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(json.dumps(told), encoding="utf-8")

    def when(self, known: Known) -> str:
        """Return the time from today until a mistake comes back, in words."""
        days = (known.due - self.today).days
        return "tomorrow" if days <= 1 else f"in {days} days"

    def say(self, text: str, style: str = "") -> None:
        """Print a text, indented."""
        self.console.print(Padding(Text(text, style), (0, 2)))

    def attempt(self, exercise: str, code: str) -> Attempt:
        """Return the learner's chapter as an attempt, with this code in an exercise's place."""
        chapter = self.kit.course.exercise(exercise)[0].name
        text = self.kit.text(chapter)
        source = Source(text.replace(definition_in(text, exercise), code, 1), f"{chapter}.py")
        return self.checker.maker.attempt_from_source(chapter, source)

    def results(self, exercise: str, code: str) -> list[CheckResult]:
        """Run an exercise's checks with this code in its place."""
        attempt = self.attempt(exercise, code)
        try:
            return results_on(attempt, exercise)[exercise]
        finally:
            attempt.lab.close()

    def made(self, mistake: str) -> Item | None:
        """Return own code with a mistake in it, proved by running it; None if none is found."""
        self.console.print("\nmaking an exercise from your own code …", style="dim")
        until = time.monotonic() + SECONDS
        for exercise, known in self.fitting(mistake):
            text = self.kit.text(self.kit.course.exercise(exercise)[0].name)
            imports = [ast.unparse(one) for one in statements(text) if isinstance(one, IMPORTS)]
            above = ABOVE.format(exercise=exercise, imports="\n".join(imports))
            own = plain(definition_in(text, exercise))
            right = not first_failure(self.results(exercise, own))
            for code in self.broken(exercise, own, known, until) if right else ():
                findings = [one.finding for one in self.results(exercise, code) if one.finding]
                named = {name: said for one in findings for name, said in one.mistakes.items()}
                if named.keys() == {mistake}:
                    line = above.count("\n") + first_difference(own, code)
                    return Item(mistake, named[mistake], exercise, f"{above}{code}\n", line)
        return None

    def fitting(self, mistake: str) -> list[tuple[str, Fingerprint]]:
        """Return passed exercises in which a mistake is known, at random, its own one last."""
        found, maker = [], self.checker.maker
        for chapter in self.kit.course.chapters:
            side = maker.side(chapter.name)
            known = side.fingerprints.by_exercise
            names = [one.name for one in chapter.exercises if one.name not in side.references.bugs]
            passed = [name for name in names if self.states.get(name) == State.DONE]
            found += [(n, p) for n in passed for p in known[n] if p.mistakes == (mistake,)]
        random.shuffle(found)
        return sorted(found, key=lambda one: one[0] == self.known[mistake].exercise)

    def broken(self, exercise: str, own: str, known: Fingerprint, until: float) -> list[str]:
        """Return a few edits of a definition that give a mistake's result on one case."""
        attempt = self.attempt(exercise, own)
        telling = telling_cases(attempt, exercise, known)
        portions = range(0, len(changes_of(attempt.source.text, exercise, 0)), AT_ONCE)
        found: set[str] = set()
        for first in random.sample(portions, len(portions)):
            if not telling or len(found) >= MOST or time.monotonic() > until:
                break
            case, right = telling[0]
            for edit, seen in attempt.lab.tries(attempt.program, exercise, 0, case, first, AT_ONCE):
                code = plain(definition_in(edit.text, exercise))
                odd = len(ODD.findall(code)) > len(ODD.findall(own)) or code == own
                if not odd and known.imprints[case.name].matches(imprint(case, right, seen, {})):
                    found.add(code)
        attempt.lab.close()
        return list(found)


def telling_cases(
    attempt: Attempt, exercise: str, known: Fingerprint
) -> list[tuple[Case, Observation]]:
    """Return the cases, with right results, on which a mistake gives other values."""
    return [
        (case, right)
        for case, right in attempt.references.of(exercise)
        if case.signature == "values" and not right.error
        if not known.imprints[case.name].is_error
        if not known.imprints[case.name].matches(imprint(case, right, right, {}))
    ]


def plain(code: str) -> str:
    """Return code in Python's own layout, without comments and needless `pass`.

    Otherwise layout and brackets would show the place of an edit.
    """
    tree = ast.parse(code)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [one for one in body if not isinstance(one, ast.Pass)] or body  # type: ignore[attr-defined]
    return ast.unparse(tree)


def first_difference(before: str, after: str) -> int:
    """Return the first line that differs between two texts, counted from 1.

    >>> first_difference("a\\nb", "a\\nc")
    2
    """
    pairs = zip(before.split("\n"), after.split("\n"), strict=False)
    return next((at for at, (one, other) in enumerate(pairs, 1) if one != other), 1)
