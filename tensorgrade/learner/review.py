"""Serve the learner's own code with a mistake in it that the learner has made before, days later.

A small edit of code counts if its results have the mistake's fingerprint. So the kit needs no
solution and no wrong version of one.
"""

import ast
import json
import random
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..attempts.results import CheckResult, State, first_failure
from ..exchange.text import sentence
from ..folders import OWN_FOLDER
from ..history import read_history
from ..recognition.signatures import imprint
from ..runner.source import Source
from ..runner.syntax import bound_by, definitions
from ..views.note import Note
from ..views.words import definition_in
from .checker import Checker
from .edits import edits
from .kit import Kit

WAITS = (1, 3, 7, 21)  # days until a mistake comes back, if it was found never, once, twice, …
AT_ONCE, SECONDS = 10, 30  # edits in a request; seconds to search for one mistake
SECONDS_OF_REQUEST = 0.2  # of processor time
ODD = re.compile(r"--|-0\b(?!\.)|\.bool\(\)")  # edits write this, and learners hardly do
NOTHING_NAMED = (
    "No mistake of yours has been named yet, so there is nothing to review. `tensorgrade watch` "
    "and `pytest exercises/` remember the mistakes that they name."
)
TOLD = """Your own {0} has a mistake that you have made before. Find it in review/{0}.py, change
only that, and save. Enter checks it · h hint · q stop"""
ABOVE = '''"""Review: your own {}, with one mistake in it that you have made before.

Find it, change only that, save, and press Enter in the terminal.
"""

'''


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
    """A session. known: the learner's mistakes by name."""

    def __init__(self, kit: Kit, console: Console):
        self.kit, self.console = kit, console
        self.file = kit.root / OWN_FOLDER / "review.json"
        history = read_history(kit.root)
        states = {entry.exercise: entry.state for entry in history}
        names = kit.course.exercise_names
        self.passed = [name for name in names if states.get(name) == State.DONE]
        try:
            told = json.loads(self.file.read_text(encoding="utf-8"))
            self.known = {name: Known(**one) for name, one in told.items()}
        except (OSError, ValueError, TypeError, AttributeError):  # missing or damaged
            self.known = {}
        for entry in history:
            for name in entry.mistakes:
                if name not in self.known or entry.day > self.known[name].day:
                    self.known[name] = Known(entry.exercise, entry.day)

    def run(self, every: bool) -> None:
        """Serve the mistakes that are due (`every`: all of them), until the learner stops."""
        by_day = sorted(self.known, key=lambda name: self.known[name].due)
        due = [name for name in by_day if every or self.known[name].due <= date.today()]
        if not by_day:
            self.console.print(NOTHING_NAMED)
        elif not due:
            first = self.known[by_day[0]].due
            self.console.print(f"Nothing is due today. The next review is on {first}.")
            self.console.print("To practise without waiting: tensorgrade review --all")
        else:
            with Checker(self.kit.exercises, self.kit.exercises) as self.checker:
                any(self.stops_at(mistake) for mistake in due)

    def stops_at(self, mistake: str) -> bool:
        """Serve one mistake. Return True if the learner stops."""
        self.console.print("\nmaking an exercise from your own code …", style="dim")
        exercise, code, message = self.made(mistake)
        if not exercise:
            self.console.print("This mistake fits no code that you have passed so far.")
            return False
        path = self.kit.root / "review" / f"{exercise}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{ABOVE.format(exercise)}{code}\n", encoding="utf-8")
        self.console.print(TOLD.format(exercise), markup=False)
        known, hinted = self.known[mistake], False
        while (key := self.console.input("> ").strip().lower()) != "q":
            hinted |= key == "h"
            if key == "h":
                self.console.print(Text(message))
            elif problem := self.problem_in(exercise, path):
                self.console.print(Text(f"Not yet. {problem}", "yellow"))
            else:
                path.unlink()
                known.found, known.day = 0 if hinted else known.found + 1, date.today().isoformat()
                text = json.dumps({name: asdict(one) for name, one in self.known.items()})
                self.file.write_text(text, encoding="utf-8")
                self.console.print(Text(f"Found. {message}", "green"))
                self.console.print(f"You meet this mistake again on {known.due}.")
                return False
        return True

    def problem_in(self, exercise: str, path: Path) -> str:
        """Return what is wrong with a repair; "" if it is right."""
        code = path.read_text(encoding="utf-8", errors="replace")
        failed = first_failure(self.results(exercise, code))
        return sentence(Note(failed.finding).finding.diagnosis.problem) if failed else ""

    def with_code(self, exercise: str, code: str) -> tuple[str, Source]:
        """Return a chapter, and the learner's script with this code in an exercise's place."""
        chapter = self.kit.course.exercise(exercise)[0].name
        text = self.kit.text(chapter)
        own = definition_in(text, exercise)
        return chapter, Source(text.replace(own, code, 1), f"{chapter}.py")

    def results(self, exercise: str, code: str) -> list[CheckResult]:
        """Run an exercise's checks with this code in its place."""
        return self.checker.check_file(*self.with_code(exercise, code), exercise)[exercise]

    def made(self, mistake: str) -> tuple[str, str, str]:
        """Return an exercise, own code with a mistake in it, proved by running it, and its message.

        Other exercises come before the one in which the mistake was made. The exercise is "" if
        nothing is found.
        """
        until, last = time.monotonic() + SECONDS, self.known[mistake].exercise
        for exercise in sorted(random.sample(self.passed, len(self.passed)), key=last.__eq__):
            for code in self.broken(exercise, mistake, until):
                findings = [one.finding for one in self.results(exercise, code) if one.finding]
                named = {name: said for one in findings for name, said in one.mistakes.items()}
                if named.keys() == {mistake}:
                    return exercise, code, named[mistake]
        return "", "", ""

    def broken(self, exercise: str, mistake: str, until: float) -> Iterator[str]:
        """Yield edits of own code that give a mistake's result on one case."""
        chapter, maker = self.kit.course.exercise(exercise)[0].name, self.checker.maker
        own = own_code(self.kit.text(chapter), exercise)
        side = maker.side(chapter)
        known = [o for o in side.fingerprints.of(exercise) if o.mistakes == (mistake,)]
        telling = (
            (case, right)
            for case, right in side.references.of(exercise)
            if known and case.signature == "values" and not right.error
            if not known[0].imprints[case.name].is_error
            if not known[0].imprints[case.name].matches(imprint(case, right, right, {}))
        )
        if (found := next(telling, None)) is None or exercise in side.references.bugs:
            return
        case, right = found
        attempt = maker.attempt_from_source(*self.with_code(exercise, own))
        made, tried = edits(attempt.source.text, exercise), {own}
        portions = range(0, len(made), AT_ONCE)
        for first in random.sample(portions, len(portions)):
            if time.monotonic() > until:
                break
            codes = [edit.code for edit in made[first : first + AT_ONCE]]
            told = {"definitions": codes, "seconds": SECONDS_OF_REQUEST}
            results = attempt.lab.tried(attempt.program, case, told)
            for edited, seen in zip(codes, results, strict=False):
                code = own_code(edited, exercise)
                odd = len(ODD.findall(code)) > len(ODD.findall(own))
                same = known[0].imprints[case.name].matches(imprint(case, right, seen, {}))
                if same and not odd and code not in tried:
                    tried.add(code)
                    yield code
        attempt.lab.close()


def own_code(text: str, name: str) -> str:
    """Return a definition in Python's own layout, which does not show the place of an edit."""
    node = definitions(bound_by(text)).get(name)
    return ast.unparse(node) if node else ""
