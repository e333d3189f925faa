"""Show on a terminal how the grading of a class goes, and what it found."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ..attempts.verdict import GRADERS_FAILED, TROUBLE
from ..course import Course
from ..exchange.text import printable, short
from ..views.words import plural
from .rules import OTHER_FILE, grouped, total

MOST_LISTED, LONGEST_NOTE = 12, 300  # lines; characters: two lines of a wide terminal
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")
Rows = list[dict]


def say(console: Console, *lines: str) -> None:
    """Print lines, in which nothing is markup."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def print_notes(console: Console, notes: list[str]) -> None:
    """Print notes for the instructor."""
    say(console, *(f"note: {printable(short(note, LONGEST_NOTE))}" for note in notes))


def with_progress(console: Console, graded: Iterable[Any], total: int) -> Iterable[Any]:
    """Return what is graded, with a bar on a terminal."""
    return track(
        graded,
        "grading",
        total,
        auto_refresh=False,  # a thread for the bar would prevent that workers are forked
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def print_changes(console: Console, before: Rows, now: Rows, changes: Rows) -> None:
    """Print the submissions whose points changed, by cause, with their points of all exercises.

    Those with another file that earns no less are left out.
    """
    was, is_now = (grouped(rows, "student", "chapter") for rows in (before, now))
    told = defaultdict(list)
    for why, *about in sorted(grouped(changes, "why", "student", "chapter")):
        old, new = (total(rows[tuple(about)]) for rows in (was, is_now))
        if new < old or (new > old and why != OTHER_FILE):
            told[why].append(f"{'/'.join(about)}: {old:g} → {new:g}")
    for why, lines in told.items():
        count = plural(len(lines), "submission")
        say(console, f"{why}: points of {count} differ", *at_most(lines))


def at_most(lines: list[str]) -> list[str]:
    """Return the first lines, indented, and the number of the others."""
    more = [f"  … and {len(lines) - MOST_LISTED} more"] if len(lines) > MOST_LISTED else []
    return [f"  {line}" for line in lines[:MOST_LISTED]] + more


def in_trouble(row: dict) -> bool:
    """Return True if a row could not be graded as usual.

    An error that is recognized as a known mistake counts as graded.
    """
    return row["status"] in TROUBLE and not row["mistakes"]


def graders_failed(row: dict) -> bool:
    """Return True if the graders themselves failed on a row's file."""
    return row.get("message_id") in GRADERS_FAILED


def print_class(console: Console, course: Course, rows: Rows) -> None:
    """Print the table of a class, its mistakes and its troubles, from the rows that count."""
    console.print(exercise_table(course, rows))
    made = {(row["student"], name) for row in rows for name in row["mistakes"]}
    counts = Counter(name for _, name in sorted(made)).most_common(6)
    most = ", ".join(f"{name} ({count})" for name, count in counts)
    found = f"Most frequent mistakes (learners who made them): {most}"
    console.print(Text(f"\n{found if most else 'No known mistake was recognized.'}"))
    troubled = grouped(filter(in_trouble, rows), "student", "chapter").values()
    told = "{student}/{chapter} {exercise}: {status}. {message}"
    lines = [told.format(**row | {"message": short(row["message"])}) for row, *_ in troubled]
    if lines:
        title = f"\n{plural(len(lines), 'file')} could not be graded as usual"
        say(console, f"{title} (other learners are not affected):", *at_most(lines))


def exercise_table(course: Course, rows: Rows) -> Table:
    """Return a table with the counts of each status and the mean points of every exercise.

    Excused learners are not counted.
    """
    by_exercise = grouped((row for row in rows if row["max_points"]), "exercise")
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("exercise", no_wrap=True)
    for title in ("pass", "part", "fail", "to do", "err", "time", "kill", "mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for exercise in (exercise for chapter in course.chapters for exercise in chapter.exercises):
        if own := by_exercise[exercise.name,]:
            counts = Counter(row["status"] for row in own)
            mean = sum(row["points"] for row in own) / len(own)
            cells = [str(counts[status] or "·") for status in STATUSES]
            table.add_row(exercise.name, *cells, f"{mean:.1f}/{exercise.points:g}")
    return table
