"""Show a learner's history: one line for each day, what is done by now, and deadlines."""

from collections import defaultdict
from datetime import date

from rich.console import Console
from rich.text import Text

from ...attempts.results import State
from ...history import Entry, History
from ...lateness import now, read_time
from ...views.summary import bar
from ...views.words import plural
from ..kit import Kit


def show_progress(kit: Kit, console: Console) -> None:
    """Print the learner's history, day by day, and the sum for each chapter."""
    entries = History(kit.root).entries()
    if not entries:
        console.print(
            "Nothing is recorded yet. `tensorgrade watch` and `pytest exercises/` record your work."
        )
        print_deadlines(kit, console)
        return
    for day, of_day in by_day(entries).items():
        console.print(Text(f"{day:%A, %d %B %Y}".replace(" 0", " "), "bold"))
        for line in lines_of(of_day):
            console.print(line)
    print_chapters(kit, {entry.exercise: entry for entry in entries}, console)
    print_deadlines(kit, console)


def by_day(entries: list[Entry]) -> dict[date, list[Entry]]:
    """Return the entries by the day, in this machine's time zone."""
    found: dict[date, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[entry.time.astimezone().date()].append(entry)
    return found


def lines_of(entries: list[Entry]) -> list[Text]:
    """Return a line for each exercise of one day: its last state, and the mistakes on the way."""
    by_exercise: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        by_exercise[entry.exercise].append(entry)
    lines = []
    for name, some in by_exercise.items():
        done = some[-1].state == State.DONE
        mistakes = list(dict.fromkeys(one for entry in some for one in entry.mistakes))
        mark = ("  ✓ ", "green") if done else ("  ✗ ", "red")
        line = Text.assemble(mark, f"{name:<32} ", some[-1].state)
        line.append(f"  {', '.join(mistakes)}" if mistakes else "", "dim")
        lines.append(line)
    return lines


def print_chapters(kit: Kit, last: dict[str, Entry], console: Console) -> None:
    """Print a bar for each chapter that is begun. last: each exercise's last entry."""
    console.print()
    for chapter in kit.course.chapters:
        known = [last[one.name] for one in chapter.exercises if one.name in last]
        if known:
            points = sum(one.points for one in known)
            done = sum(one.state == State.DONE for one in known)
            sums = f"{done:>3} of {plural(len(chapter.exercises), 'exercise')}"
            console.print(f"{chapter.title:<39} {bar(points, chapter.points)} {sums}")


def print_deadlines(kit: Kit, console: Console) -> None:
    """Print a line for each chapter with a deadline in the kit's `course.json`."""
    dues = [chapter for chapter in kit.course.chapters if chapter.due]
    if dues:
        console.print("\nDue, unless you were given more time:")
    for chapter in dues:
        over = " (over)" if read_time(chapter.due) < now() else ""
        console.print(Text(f"  {chapter.title:<37} {chapter.due}{over}"))
