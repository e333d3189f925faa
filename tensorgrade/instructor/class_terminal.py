"""Show the progress of grading a class: a bar on a terminal, plain lines elsewhere."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from operator import itemgetter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ..attempts.verdict import GRADERS_FAILED, TROUBLE, Verdict
from ..course import Course
from ..exchange.text import printable
from ..sources.finding import named
from ..sources.submitted_files import SubmittedFiles
from ..views.words import plural
from .grader import NOTHING_PASSES
from .history import (
    BY_HAND,
    EXTENDED,
    GRADED_AGAIN,
    OTHER_DATES,
    OTHER_FILE,
    OTHER_GRADERS,
    OTHER_POLICY,
    OTHER_TIME,
)

SECONDS_BETWEEN_LINES = 10
MOST_LISTED = 12
CHANGED = {
    OTHER_GRADERS: "The graders changed",
    OTHER_DATES: "Deadlines or late penalties changed",
    BY_HAND: "Overrides changed",
    EXTENDED: "Extensions changed",
    GRADED_AGAIN: "Files were graded again",
    OTHER_POLICY: "The rule on attempts changed",
    OTHER_TIME: "Submission times changed",
    OTHER_FILE: "New files earn less than earlier ones",
}


class ClassProgress:
    """A progress display, used as `with ClassProgress() as progress:`.

    The bar starts after the workers: a thread draws it, and a process with threads cannot fork
    workers.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic):
        self.console, self.clock = console or Console(highlight=False), clock
        self.bar = Progress(
            TextColumn("grading"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.started = self.last_line = clock()
        self.count = self.total = self.trouble = 0
        self.ungraded: list[str] = []
        self.last_notes: list[str] = []  # shown again at the end, because notes above scroll away

    def __enter__(self) -> "ClassProgress":
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def waits(self) -> None:
        """Print that this run waits for another one."""
        self.say("Another run is writing to this folder; waiting for it to finish …")

    def begin(self, total: int, left: int, notes: list[str]) -> None:
        """Print the notes and the number of submissions."""
        for note in notes:
            self.say(f"note: {printable(note, len(note))}")
        done = f", {total - left} of them graded before" if left < total else ""
        self.say(f"{plural(total, 'submission')}{done}")
        self.total, self.task = left, self.bar.add_task("", total=left, speed="")

    def checked_in(self, workers: dict[str, int]) -> None:
        """Print the number of workers and their isolation."""
        for isolation, count in workers.items():
            self.say(f"{plural(count, 'worker')}, isolation {isolation}")
        self.started = self.last_line = self.clock()
        self.bar.start()

    def advance(self, submitted_files: SubmittedFiles, verdicts: list[Verdict] | None) -> None:
        """Count one more submission, or note that it could not be graded."""
        if verdicts is None:
            self.ungraded.append(f"{submitted_files.student}/{submitted_files.chapter}")
            return
        self.count += 1
        self.trouble += any(in_trouble(v.status, v.mistakes) for v in verdicts)
        self.bar.update(self.task, advance=1, speed=self.speed())
        if not self.console.is_terminal and self.clock() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = self.clock()
            self.say(f"{self.count} of {self.total} graded, {self.speed()}")

    def speed(self) -> str:
        """Return a text like `12.3/s, 0:40 left, 3 with problems`."""
        rate = self.count / max(self.clock() - self.started, 1e-9)
        minutes, seconds = divmod(round((self.total - self.count) / rate), 60)
        return f"{rate:.1f}/s, {minutes}:{seconds:02} left, {self.trouble} with problems"

    def not_graded(self) -> str:
        """Return which submissions could not be graded, and why; "" if there are none."""
        whose = named(sorted(self.ungraded))
        how = "Run the same command again to grade the rest"
        return f"not graded yet: {whose}, because {NOTHING_PASSES} {how}" if whose else ""

    def without_effect(self, notes: list[str]) -> None:
        """Keep notes that an instructor must not miss for the end of the output."""
        self.last_notes = notes

    def end(self, *lines: str) -> None:
        """Print the last lines of a run, and the notes that must not be missed."""
        notes = filter(None, [*self.last_notes, self.not_graded()])
        for line in [*lines, *(f"note: {printable(note, len(note))}" for note in notes)]:
            self.say(line)

    def moved(self, moves: list[dict]) -> None:
        """Print the changed points and the cause of each change, by learner.

        They are sorted, because workers finish in any order.
        """
        moves = sorted(moves, key=itemgetter("student", "chapter"))
        for why, what in CHANGED.items():
            own = [one for one in moves if one["why"] == why]
            lines = [*map(changed_points, own)]
            lines = list(dict.fromkeys(lines)) if why == OTHER_FILE else lines  # one for a chapter
            if own:
                self.say(f"{what}; points differ in {plural(len(own), 'result')}:")
            for line in lines[:MOST_LISTED]:
                self.say(f"  {line}")
            if len(lines) > MOST_LISTED:
                self.say(f"  … and {len(lines) - MOST_LISTED} more")

    def say(self, line: str) -> None:
        self.console.print(Text(line), soft_wrap=True)


def changed_points(move: dict) -> str:
    """Return a line with old and new points of an exercise, or of a chapter.

    move: a record of `Ledger.moved`. The points are those of the chapter if it has a `total`.
    """
    name = "chapter" if "total" in move else "exercise"
    before, now = move.get("total") or move["points"]
    return f"{move['student']}/{move[name]}: {before:g} → {now:g}"


def in_trouble(status: str, mistakes: list[str]) -> bool:
    """Return True if a row could not be graded as usual.

    An error that is recognized as a known mistake counts as graded.
    """
    return status in TROUBLE and not mistakes


LONGEST = 200
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")


def print_class(console: Console, course: Course, rows: list[dict]) -> None:
    """Print the table of a class, from the rows of `results.jsonl`."""
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
        by_exercise[row["exercise"]].append(row)
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("exercise", no_wrap=True)
    for title in ("pass", "part", "fail", "to do", "err", "time", "kill", "mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for chapter in course.chapters:
        for exercise in chapter.exercises:
            if own := [row for row in by_exercise[exercise.name] if row["max_points"]]:
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
    named = ", ".join(f"{name} ({count})" for name, count in counts.most_common(6))
    return f"\nMost frequent mistakes (learners who made them): {named}"


def cut(text: str) -> str:
    """Return a text cut to LONGEST characters, because a learner may have written it."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def troubles(rows: list[dict]) -> list[str]:
    """Return a line for each chapter of a learner that could not be graded as usual."""
    first: dict[tuple[str, str], dict] = {}
    for row in rows:
        if in_trouble(row["status"], row["mistakes"]):
            first.setdefault((row["student"], row["chapter"]), row)
    if not first:
        return []
    files = plural(len(first), "file")
    lines = [f"\n{files} could not be graded as usual (other learners are not affected):"]
    for (student, chapter), row in list(first.items())[:MOST_LISTED]:
        why = f"{row['status']}. {cut(row['message'])}"
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
