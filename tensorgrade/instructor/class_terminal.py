"""Show on a terminal how the grading of a class goes, and what it found."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ..attempts.verdict import GRADERS_FAILED, TROUBLE
from ..course import Course
from ..exchange.text import printable, short
from ..views.words import plural

SECONDS_BETWEEN_LINES = 10
MOST_LISTED = 12
LONGEST_NOTE, LONGEST_MESSAGE = 300, 200  # characters; two lines of a wide terminal
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")
Graded = TypeVar("Graded")


def say(console: Console, line: str) -> None:
    """Print a line, in which nothing is markup."""
    console.print(Text(line), soft_wrap=True)


def print_notes(console: Console, notes: list[str]) -> None:
    """Print notes for the instructor."""
    for note in notes:
        say(console, f"note: {printable(short(note, LONGEST_NOTE))}")


def with_progress(console: Console, graded: Iterable[Graded], total: int) -> Iterator[Graded]:
    """Yield what is graded, and show its number: a bar on a terminal, lines elsewhere."""
    if console.is_terminal:
        # Without a thread for the bar, because a process with threads cannot fork workers.
        yield from track(
            graded, "grading", total, auto_refresh=False, console=console, transient=True
        )
        return
    last = time.monotonic()
    for count, one in enumerate(graded, 1):
        yield one
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            say(console, f"{count} of {total} graded")


def print_changes(console: Console, losses: list[dict]) -> None:
    """Print changed points by cause."""
    for why in sorted({one["why"] for one in losses}):
        own = [one for one in losses if one["why"] == why]
        say(console, f"{why}: points of {plural(len(own), 'submission')} differ")
        told = (f"{o['student']}/{o['chapter']}: {points_in(o['points'])}" for o in own)
        for line in at_most(list(told)):
            say(console, line)


def points_in(both: list[float]) -> str:
    """Return points before and after a change."""
    return " → ".join(map("{:g}".format, both))


def at_most(lines: list[str]) -> list[str]:
    """Return the first lines, indented, and the number of the others."""
    more = [f"  … and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    return [f"  {line}" for line in lines[:MOST_LISTED]] + more


def in_trouble(row: dict) -> bool:
    """Return True if a row could not be graded as usual.

    An error that is recognized as a known mistake counts as graded.
    """
    return row["status"] in TROUBLE and not row["mistakes"]


def print_class(console: Console, course: Course, rows: list[dict]) -> None:
    """Print the table of a class, from the rows that count."""
    console.print(exercise_table(course, rows))
    console.print(Text(mistakes_line(rows)))
    for line in troubles(rows):  # as Text, because learners' names and messages are not markup
        console.print(Text(line), soft_wrap=True)


def exercise_table(course: Course, rows: list[dict]) -> Table:
    """Return a table with the counts of each status and the mean points of every exercise.

    Excused learners are not counted.
    """
    by_exercise = defaultdict(list)
    for row in rows:
        if row["max_points"]:
            by_exercise[row["exercise"]].append(row)
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("exercise", no_wrap=True)
    for title in ("pass", "part", "fail", "to do", "err", "time", "kill", "mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for exercise in (exercise for chapter in course.chapters for exercise in chapter.exercises):
        if own := by_exercise[exercise.name]:
            counts = Counter(row["status"] for row in own)
            mean = sum(row["points"] for row in own) / len(own)
            cells = [str(counts[status] or "·") for status in STATUSES]
            table.add_row(exercise.name, *cells, f"{mean:.1f}/{exercise.points:g}")
    return table


def mistakes_line(rows: list[dict]) -> str:
    """Return a line with the most frequent mistakes."""
    made = {(row["student"], name) for row in rows for name in row["mistakes"]}
    counts = Counter(name for _, name in sorted(made))
    if not counts:
        return "\nNo known mistake was recognized."
    most = ", ".join(f"{name} ({count})" for name, count in counts.most_common(6))
    return f"\nMost frequent mistakes (learners who made them): {most}"


def troubles(rows: list[dict]) -> list[str]:
    """Return a line for each chapter of a learner that could not be graded as usual."""
    first: dict[str, dict] = {}
    for row in filter(in_trouble, rows):
        first.setdefault(f"{row['student']}/{row['chapter']}", row)
    if not first:
        return []
    files = plural(len(first), "file")
    told = [
        f"{whose} {row['exercise']}: {row['status']}. {short(row['message'], LONGEST_MESSAGE)}"
        for whose, row in first.items()
    ]
    title = f"\n{files} could not be graded as usual (other learners are not affected):"
    return [title, *at_most(told)]


def graders_failed(row: dict) -> bool:
    """Return True if the graders themselves failed on a row's file."""
    return row.get("message_id") in GRADERS_FAILED
