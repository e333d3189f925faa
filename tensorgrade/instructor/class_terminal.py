"""Show the progress of grading a class: a bar on a terminal, plain lines elsewhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..attempts.verdict import GRADERS_FAILED, TROUBLE, Verdict
from ..course import Course
from ..exchange.text import printable, short
from ..sources.finding import named
from ..sources.submitted_files import SubmittedFiles
from ..views.words import plural
from .grader import NOTHING_PASSES

SECONDS_BETWEEN_LINES = 10
MOST_LISTED = 12
LONGEST_NOTE, LONGEST_MESSAGE = 300, 200  # characters; two lines of a wide terminal
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")


class ClassProgress:
    """A progress display, used as `with ClassProgress() as progress:`.

    The bar starts after the workers: a thread draws it, and a process with threads cannot fork
    workers. last_notes are shown again at the end, because notes above scroll away.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic):
        self.console, self.clock = console or Console(highlight=False), clock
        self.bar = Progress(
            TextColumn("grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.last_line = clock()
        self.count = self.total = 0
        self.ungraded: list[str] = []
        self.last_notes: list[str] = []

    def __enter__(self) -> "ClassProgress":
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        """Print the notes and the number of submissions."""
        self.note([short(note, LONGEST_NOTE) for note in notes])
        done = f", {total - left} of them graded before" if left < total else ""
        self.say(f"{plural(total, 'submission')}{done}")
        self.total, self.task = left, self.bar.add_task("", total=left)

    def checked_in(self, workers: dict[str, int]) -> None:
        """Print the number of workers and their isolation."""
        for isolation, count in workers.items():
            self.say(f"{plural(count, 'worker')}, isolation {isolation}")
        self.last_line = self.clock()
        self.bar.start()

    def advance(self, one: SubmittedFiles, verdicts: list[Verdict] | None) -> None:
        """Count one more submission, or note that it could not be graded."""
        if verdicts is None:
            self.ungraded.append(f"{one.student}/{one.chapter}")
            return
        self.count += 1
        self.bar.update(self.task, advance=1)
        if not self.console.is_terminal and self.clock() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            self.say(f"{self.count} of {self.total} graded")

    def changed(self, losses: list[dict]) -> None:
        """Print changed points by cause, in order, because workers finish in any order."""
        for why in sorted({one["why"] for one in losses}):
            own = [changed_points(one) for one in losses if one["why"] == why]
            self.say(f"{why}: points differ in {plural(len(own), 'result')}")
            for line in sorted(own)[:MOST_LISTED]:
                self.say(f"  {line}")
            if len(own) > MOST_LISTED:
                self.say(f"  … and {len(own) - MOST_LISTED} more")

    def end(self, *lines: str) -> None:
        """Print the last lines of a run, and the notes that must not be missed."""
        for line in lines:
            self.say(line)
        whose = f"not graded yet: {named(sorted(self.ungraded))}, because {NOTHING_PASSES}"
        how = "Run the same command again to grade the rest"
        self.note([*self.last_notes, *([f"{whose} {how}"] if self.ungraded else [])])

    def note(self, notes: list[str]) -> None:
        """Print notes for the instructor."""
        for note in notes:
            self.say(f"note: {printable(note, len(note))}")

    def say(self, line: str) -> None:
        """Print a line, in which nothing is markup."""
        self.console.print(Text(line), soft_wrap=True)


def changed_points(change: dict) -> str:
    """Return a line with old and new points of an exercise, or of a chapter."""
    before, now = change["points"]
    return f"{change['student']}/{change.get('exercise', change['chapter'])}: {before:g} → {now:g}"


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
    first: dict[tuple[str, str], dict] = {}
    for row in filter(in_trouble, rows):
        first.setdefault((row["student"], row["chapter"]), row)
    if not first:
        return []
    files = plural(len(first), "file")
    lines = [f"\n{files} could not be graded as usual (other learners are not affected):"]
    for (student, chapter), row in list(first.items())[:MOST_LISTED]:
        why = f"{row['status']}. {short(row['message'], LONGEST_MESSAGE)}"
        lines.append(f"  {student}/{chapter} {row['exercise']}: {why}")
    if len(first) > MOST_LISTED:
        lines.append(f"  … and {len(first) - MOST_LISTED} more")
    return lines + to_look_at(rows)


def graders_failed(row: dict) -> bool:
    """Return True if the graders themselves failed on a row's file."""
    return row.get("message_id") in GRADERS_FAILED


def to_look_at(rows: list[dict]) -> list[str]:
    """Return advice for files on which the graders themselves failed."""
    own = [row for row in rows if graders_failed(row)]
    whose = {f"{row['student']}/{row['chapter']}": row["exercise"] for row in own}
    if not whose:
        return []
    again = f"`tensorgrade explain STUDENT {next(iter(whose.values()))} --submitted …`"
    return [
        f"\nThe graders themselves failed on {', '.join(list(whose)[:MOST_LISTED])}.",
        f"The traceback is above; {again} shows it again. The next run grades them again.",
    ]
