"""A graded class on the screen: exercise by exercise, then what could not be graded."""

from collections import Counter, defaultdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..course import Course
from ..results import TROUBLE
from .class_progress import MOST_LISTED
from .words import plural

LONGEST = 200
STATUSES = ("passed", "partial", "failed", "not_attempted", "error", "timeout", "killed")


def print_class(console: Console, course: Course, rows: list[dict]) -> None:
    """The table of a class, from the rows of `results.jsonl`."""
    console.print(exercise_table(course, rows))
    console.print(mistakes_line(rows))
    for line in troubles(rows):
        console.print(line, soft_wrap=True)


def exercise_table(course: Course, rows: list[dict]) -> Table:
    """How many learners ended with which status, and the mean points, for every exercise."""
    by_exercise = defaultdict(list)
    for row in rows:
        by_exercise[row["exercise"]].append(row)
    table = Table(box=None, padding=(0, 0, 0, 1), pad_edge=False)
    table.add_column("exercise", no_wrap=True)
    for title in ("passed", "partial", "failed", "to do", "err", "time", "kill", "mean"):
        table.add_column(title, justify="right", no_wrap=True)
    for chapter in course.chapters:
        for exercise in chapter.exercises:
            if found := by_exercise.get(exercise.name):
                counts = Counter(row["status"] for row in found)
                mean = sum(row["points"] for row in found) / len(found)
                cells = [str(counts[status] or "·") for status in STATUSES]
                table.add_row(exercise.name, *cells, f"{mean:.1f}/{exercise.points:g}")
    return table


def mistakes_line(rows: list[dict]) -> str:
    """The mistakes that were recognised most often."""
    made = {(row["student"], name) for row in rows for name in row["mistakes"]}
    counts = Counter(name for _, name in sorted(made))
    if not counts:
        return "\nNo known mistake was recognised."
    named = ", ".join(f"{name} ({count})" for name, count in counts.most_common(6))
    return f"\nMost frequent mistakes (learners who made them): {named}"


def cut(text: str) -> str:
    """No more than a line or two of what may be a learner's own text."""
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def troubles(rows: list[dict]) -> list[str]:
    """A line for each chapter of a learner that could not be graded as usual."""
    found = {}
    for row in rows:
        if row["status"] in TROUBLE:
            found.setdefault((row["student"], row["chapter"]), row)
    lines = [
        f"  {escape(student)}/{chapter} {row['exercise']}: {row['status']}. {escape(cut(row['message']))}"
        for (student, chapter), row in list(found.items())[:MOST_LISTED]
    ]
    more = len(found) - MOST_LISTED
    head = [f"\n{plural(len(found), 'file')} had trouble (nobody else is touched by it):"] if found else []
    return head + lines + ([f"  … and {more} more"] if more > 0 else [])
