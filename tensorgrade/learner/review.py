"""Serve the learner's own code with a mistake in it that the learner has made before, days later.

It is the code in which a self-check last named the mistake, as the history keeps it.
"""

from datetime import date, timedelta

import msgspec
from rich.console import Console
from rich.text import Text

from ..attempts.results import CheckResult, State, first_failure
from ..exchange.text import sentence
from ..folders import OWN_FOLDER
from ..history import read_history
from ..runner.source import Source
from ..views.note import OF_THE_TEST
from ..views.words import definition_in
from .checker import Checker
from .kit import Kit

WAITS = (1, 3, 7, 21)  # days until a mistake comes back, if it was found never, once, twice, …
NOTHING_NAMED = (
    "There is nothing to review yet. `tensorgrade watch` and `pytest exercises/` remember the "
    "mistakes that they name, and a mistake comes back a day after you have fixed it."
)
TOLD = """Your own {0} has a mistake that you have made before. Find it in review/{0}.py, change
only that, and save. Enter checks it · h hint · q stop"""
ABOVE = '''"""Review: your own {}, with a mistake in it that you have made before.

Find it, change only that, save, and press Enter in the terminal.
"""

'''


class Known(msgspec.Struct):
    """The day on which a mistake was last named or found.

    found: how many times it was found without help since it was named.
    """

    day: date
    found: int = 0

    @property
    def due(self) -> date:
        """Return the day on which the mistake comes back."""
        wait = WAITS[min(self.found, len(WAITS) - 1)]
        return self.day + timedelta(days=wait)


class Review:
    """A session. named: by mistake, the last entry of the history that names it. known: its day."""

    def __init__(self, kit: Kit, console: Console):
        self.kit, self.console = kit, console
        self.file = kit.root / OWN_FOLDER / "review.json"
        history = read_history(kit.root)
        states = {entry.exercise: entry.state for entry in history}
        passed = {name for name in kit.course.exercise_names if states.get(name) == State.DONE}
        own = [entry for entry in history if entry.code and entry.exercise in passed]
        self.named = {name: entry for entry in own for name in entry.mistakes}
        try:
            found = msgspec.json.decode(self.file.read_bytes(), type=dict[str, Known])
        except (OSError, msgspec.MsgspecError):  # missing or damaged
            found = {}
        days = {name: entry.at.astimezone().date() for name, entry in self.named.items()}
        self.known = {name: Known(day) for name, day in days.items()}
        self.known |= {
            n: k for n, k in found.items() if n in self.named and k.day >= self.known[n].day
        }

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
            with Checker(self.kit) as self.checker:
                any(self.stops_at(mistake) for mistake in due)

    def stops_at(self, mistake: str) -> bool:
        """Serve one mistake. Return True if the learner stops."""
        exercise, code = self.named[mistake].exercise, self.named[mistake].code
        findings = [one.finding for one in self.results(exercise, code) if one.finding]
        message = {n: said for one in findings for n, said in one.mistakes.items()}.get(mistake)
        if message is None:  # what it calls has changed
            self.console.print(f"The code of {exercise} does not have its mistake any more.")
            return False
        path = self.kit.root / "review" / f"{exercise}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{ABOVE.format(exercise)}{code}\n", encoding="utf-8")
        self.console.print(TOLD.format(exercise), markup=False)
        hinted = False
        while (key := self.console.input("> ").strip().lower()) != "q":
            hinted |= key == "h"
            if key == "h":
                self.console.print(Text(message))
            elif problem := self.problem_in(exercise, path.read_text("utf-8", errors="replace")):
                self.console.print(Text(f"Not yet. {problem}", "yellow"))
            else:
                path.unlink()
                self.remember(mistake, 0 if hinted else self.known[mistake].found + 1)
                self.console.print(Text(f"Found. {message}", "green"))
                self.console.print(f"You meet this mistake again on {self.known[mistake].due}.")
                return False
        return True

    def remember(self, mistake: str, found: int) -> None:
        """Store that a mistake was found today. found: as in `Known`."""
        self.known[mistake] = Known(date.today(), found)
        self.file.write_bytes(msgspec.json.encode(self.known))

    def problem_in(self, exercise: str, code: str) -> str:
        """Return what is wrong with a repair; "" if it is right."""
        failed = first_failure(self.results(exercise, code))
        return sentence((failed.finding or OF_THE_TEST).diagnosis.problem) if failed else ""

    def results(self, exercise: str, code: str) -> list[CheckResult]:
        """Run an exercise's checks on the learner's script with this code in its place."""
        chapter = self.kit.course.exercise(exercise)[0].name
        text = self.kit.text(chapter)
        script = Source(text.replace(definition_in(text, exercise), code, 1), f"{chapter}.py")
        return self.checker.check_file(chapter, script, exercise)[exercise]
