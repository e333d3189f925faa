"""Serve a find-the-bug exercise for each of the learner's own mistakes, days after it was made."""

import ast
import json
import random
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fsrs import Card, Rating, Scheduler
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ...attempts.results import State, first_failure, state_of
from ...course import CourseError
from ...exchange.text import sentence
from ...history import Entry, History
from ...practice.variants import definition
from ...runner.facts import imports_of
from ...runner.syntax import bound_by
from ...views.words import plural
from ..kit import Kit, open_in_editor
from .review_items import Item, Workshop

SCHEDULER = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
SECONDS_OF_A_SESSION = 300
MANY_TRIES = 3
KEYS = "Enter checks it · h hint · l show the line · e open the editor · q stop"
NOTHING_NAMED = (
    "No mistake of yours has been named yet, so there is nothing to review. `tensorgrade watch` "
    "and `pytest exercises/` remember the mistakes that they name."
)
TOLD = '''"""Review: your own {exercise}, with one mistake in it that you have made before.

Find it, change only that, save, and press Enter in the terminal.
"""
'''


@dataclass
class Memory:
    """The schedule of a learner's mistakes, and the exercise that is open, in a local file.

    cards: by the mistake's name, the card of fsrs as a dict. named_in: by the same names, the
    exercise in which the mistake was last named.
    """

    path: Path
    cards: dict[str, dict[str, Any]] = field(default_factory=dict)
    named_in: dict[str, str] = field(default_factory=dict)
    item: Item | None = None

    @classmethod
    def of(cls, kit: Kit) -> "Memory":
        """Return the memory of a kit; an empty one if the file is missing or damaged."""
        path = kit.own / "review.json"
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            item = Item(**told["item"]) if told["item"] else None
            memory = cls(path, told["cards"], told["named_in"], item)
            for name in memory.cards:
                memory.card(name)
        except (OSError, ValueError, TypeError, KeyError):
            return cls(path)
        return memory

    def card(self, mistake: str) -> Card:
        """Return the card of a mistake."""
        known = self.cards.get(mistake)
        return Card.from_dict(known) if known else Card(card_id=len(self.cards) + 1)  # type: ignore[arg-type]

    def rate(self, mistake: str, rating: Rating, at: datetime) -> datetime:
        """Record how well a mistake was found; return the time at which it is due again."""
        card, _ = SCHEDULER.review_card(self.card(mistake), rating, at)
        self.cards[mistake] = dict(card.to_dict())
        return card.due

    def learn(self, entries: list[Entry]) -> None:
        """Add the mistakes that the self-check has named since the last review of each.

        A mistake that is named again the same day counts once.
        """
        for entry in entries:
            for mistake in entry.mistakes:
                last = self.card(mistake).last_review
                if last is None or entry.time.date() > last.date():
                    self.rate(mistake, Rating.Again, entry.time)
                    self.named_in[mistake] = entry.exercise

    def due(self, now: datetime, every: bool) -> list[str]:
        """Return the mistakes that are due, the longest overdue first. every: return all."""
        order = sorted(self.cards, key=lambda name: self.card(name).due)
        return [name for name in order if every or self.card(name).due <= now]

    def save(self) -> None:
        """Write the file."""
        told = {"cards": self.cards, "named_in": self.named_in}
        item = asdict(self.item) if self.item else None
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(json.dumps(told | {"item": item}), encoding="utf-8")


class Session:
    """One session: the mistakes that are due, one after another, for about five minutes."""

    def __init__(self, kit: Kit, console: Console, now: datetime | None = None):
        self.kit, self.console = kit, console
        self.now = now or datetime.now(UTC)
        self.memory = Memory.of(kit)
        self.entries = History(kit.root).entries()
        self.memory.learn(self.entries)
        self.began = time.monotonic()
        self.workshop: Workshop | None = None
        self.unfit: list[str] = []

    def run(self, every: bool) -> None:
        """Serve the exercises until none is left, time is up or the learner stops."""
        due = self.memory.due(self.now, every)
        try:
            if self.memory.item and not self.serve(self.memory.item, "Still open"):
                return
            self.serve_all([one for one in due if one in self.memory.due(self.now, every)])
        finally:
            self.memory.save()
            if self.workshop:
                self.workshop.close()

    def serve_all(self, due: list[str]) -> None:
        """Serve an exercise for each of these mistakes."""
        if not due:
            self.say_when()
            return
        self.console.print(f"{plural(len(due), 'mistake')} to review, in about five minutes.")
        for number, mistake in enumerate(due, 1):
            if time.monotonic() - self.began > SECONDS_OF_A_SESSION:
                left = len(due) - number + 1
                self.console.print(f"Five minutes are over. {left} can wait for another day.")
                break
            self.console.print("\nmaking an exercise from your own code …", style="dim")
            item = self.made(mistake)
            if item is None:
                self.unfit.append(mistake)
            elif not self.serve(item, f"{number} of {len(due)}"):
                break
        if self.unfit:
            names = ", ".join(self.unfit)
            self.console.print(
                f"\nNo exercise that you have passed fits these yet: {names}", style="dim"
            )

    def made(self, mistake: str) -> Item | None:
        """Return a fresh exercise for a mistake; None if none can be made."""
        last = {entry.exercise: entry.state for entry in self.entries}
        passed = [name for name, state in last.items() if state == State.DONE]
        self.workshop = self.workshop or Workshop(self.kit, random.Random())
        return self.workshop.item(mistake, self.memory.named_in.get(mistake, ""), passed)

    def say_when(self) -> None:
        """Say when the next mistake is due, or that there is none."""
        dues = {name: self.memory.card(name).due for name in self.memory.cards}
        if not dues:
            self.console.print(NOTHING_NAMED)
            return
        days = max(1, (min(dues.values()) - self.now).days + 1)
        when = "tomorrow" if days == 1 else f"in {days} days"
        self.console.print(f"Nothing is due today. The next review is {when}.")
        self.console.print("To practise without waiting: tensorgrade review --all")

    def serve(self, item: Item, number: str) -> bool:
        """Let the learner repair one exercise. Return False if the learner stops."""
        path = self.kit.root / "review" / f"{item.exercise}.py"
        if not (item == self.memory.item and path.exists()):
            path.parent.mkdir(exist_ok=True)
            path.write_text(file_of(item), encoding="utf-8")
        self.memory.item = item
        self.memory.save()
        title = f"{number}: your own {item.exercise}, with one mistake that you have made before"
        self.console.print(Text(f"\n{title}", "bold"))
        place = path.relative_to(self.kit.root)
        self.console.print(f"  Find it in {place}, change only that, and save.\n  {KEYS}")
        return self.ask(item, path)

    def ask(self, item: Item, path: Path) -> bool:
        """Read keys until the exercise is repaired. Return False if the learner stops."""
        tries, rating = 0, Rating.Good
        while True:
            try:
                key = self.console.input("> ").strip().lower()
            except (EOFError, KeyboardInterrupt):
                key = "q"
            if key == "q":
                self.console.print(
                    "This exercise stays open: `tensorgrade review` continues with it."
                )
                return False
            if key == "h":
                rating = min(rating, Rating.Hard)
                self.console.print(Padding(item.message, (0, 2)))
            elif key == "l":
                rating = Rating.Again
                line = line_in_file(item)
                self.console.print(f"  The mistake is on line {line} of {path.name}.")
            elif key == "e":
                self.open(path)
            else:
                tries += 1
                if tries >= MANY_TRIES:
                    rating = min(rating, Rating.Hard)
                if self.is_repaired(item, path, rating):
                    return True

    def open(self, path: Path) -> None:
        """Open the file in the learner's editor."""
        if not open_in_editor(path, 1):
            self.console.print("  No editor is known. Set the variable EDITOR, or use VS Code.")

    def is_repaired(self, item: Item, path: Path, rating: Rating) -> bool:
        """Check a repair and print the outcome. If it is right, record it and remove the file."""
        self.workshop = self.workshop or Workshop(self.kit, random.Random())
        try:
            results, small = self.workshop.repaired(item, path.read_text(encoding="utf-8"))
        except (CourseError, OSError, UnicodeDecodeError) as error:
            self.console.print(f"  {error}", style="yellow", markup=False)
            return False
        checks = results[item.exercise]
        failed = first_failure(checks)
        if state_of(checks) != State.DONE:
            said = sentence(failed.finding.diagnosis.problem) if failed and failed.finding else ""
            self.console.print(f"  Not yet. {said}", style="yellow", markup=False)
            return False
        if not small:
            rating = min(rating, Rating.Hard)
            self.console.print("  It is right, but much of it is new; one small change was enough.")
        due = self.memory.rate(item.mistake, rating, datetime.now(UTC))
        self.memory.item = None
        path.unlink()
        days = max(1, round((due - datetime.now(UTC)).total_seconds() / 86400))
        again = "tomorrow" if days == 1 else f"in {days} days"
        self.console.print(Text("  Found.", "bold green"), Text(item.message))
        self.console.print(f"  You meet this mistake again {again}.", style="dim")
        return True


def file_of(item: Item) -> str:
    """Return the text of the file that the learner repairs: imports and the definition."""
    node = definition(item.definition, item.exercise)
    assert node is not None, "the item was run"
    imports = imports_of(node, bound_by(item.base))
    above = "\n".join(ast.unparse(one) for one in imports)
    return f"{TOLD.format(exercise=item.exercise)}\n{above}\n\n\n{item.definition}\n".replace(
        "\n\n\n\n\n", "\n\n\n"
    )


def line_in_file(item: Item) -> int:
    """Return the line of the mistake in the file that the learner repairs."""
    before = file_of(item).partition(item.definition)[0]
    return before.count("\n") + item.line
