"""The kill matrix: every known mistake against every hidden test of its exercise.

It proves the graders. A mistake that no test notices would earn full points. A test that notices no
mistake gives its points away.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from ...attempts.results import CheckResult
from ...judging.diagnosis import NO_RESULT
from ...processes import side_by_side
from ...project import Project
from ...testing.collected import CollectedTests
from ...views.words import plural
from ..recording.bugs import mistake_given
from .made_attempts import MadeAttempts

PAGE = Path("docs/reference/kill_matrix.md")  # in the course's folder
SURVIVED, JUDGED, BROKEN = "", "●", "○"
Noticed = dict[tuple[str, str], tuple[str, ...]]  # rows, by exercise and mistake


@dataclass(frozen=True)
class HiddenTest:
    """A test's name, the line that learners read, and True if it is marked as a guard."""

    name: str
    asks: str
    guard: bool


@dataclass(frozen=True)
class ExerciseMatrix:
    """The matrix of one exercise.

    rows: for each mistake, one of SURVIVED, JUDGED and BROKEN for each test. borrowed: True if its
    tests belong to another exercise, whose matrix proves them.
    """

    exercise: str
    tests: tuple[HiddenTest, ...]
    rows: dict[str, tuple[str, ...]]
    borrowed: bool = False

    def kills(self, column: int, mark: str = JUDGED) -> int:
        """Return the number of mistakes with this mark in a test's column."""
        return sum(row[column] == mark for row in self.rows.values())

    def alone(self, column: int) -> int:
        """Return the number of mistakes that only the test in this column notices."""
        rows = self.rows.values()
        return sum(bool(row[column]) and sum(map(bool, row)) == 1 for row in rows)


def kill_matrix(project: Project, noticed: Noticed | None = None) -> list[ExerciseMatrix]:
    """Return the matrices of all exercises, in the course's order. Chapters run in parallel.

    noticed: rows that are already known, for example from `measure`, and are not measured again.
    """
    names = [chapter.name for chapter in project.course.chapters]
    # Some mistakes cause torch warnings.
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        # The last chapter takes longest, so it starts first.
        futures = {
            name: pool.submit(chapter_matrix, str(project.root), name, noticed or {})
            for name in reversed(names)
        }
        return [matrix for name in names for matrix in futures[name].result()]


def chapter_matrix(root: str, chapter: str, noticed: Noticed) -> list[ExerciseMatrix]:
    """Return the matrices of one chapter's exercises, on one thread."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    collected, made = CollectedTests(project.graders), MadeAttempts(project, project.graders)
    exercises = project.course.chapter(chapter).exercises
    return [exercise_matrix(project, collected, made, chapter, e.name, noticed) for e in exercises]


def exercise_matrix(
    project: Project,
    collected: CollectedTests,
    made: MadeAttempts,
    chapter: str,
    exercise: str,
    noticed: Noticed,
) -> ExerciseMatrix:
    """Run every mistake of one exercise against each of its hidden tests."""
    rows, bug = {}, mistake_given(project, chapter, exercise)
    for mistake in [*project.mistakes, *([bug] if bug else [])]:
        if row := noticed.get((exercise, mistake.name)):
            rows[mistake.name] = row
        elif exercise in mistake.edits:
            attempt = made.wrong(chapter, exercise, [mistake])
            rows[mistake.name] = tuple(map(mark, collected.results(attempt, exercise)))
    found = collected.of(chapter, exercise)
    tests = tuple(HiddenTest(test.name, test.asks, test.guard) for test in found)
    return ExerciseMatrix(exercise, tests, rows, borrowed=bug is not None)


def mark(result: CheckResult) -> str:
    """Return SURVIVED if the test passed, BROKEN if it got no result to judge, or else JUDGED."""
    if result.passed:
        return SURVIVED
    finding = result.finding
    return BROKEN if finding and finding.diagnosis.kind in NO_RESULT else JUDGED


def unproved(matrices: list[ExerciseMatrix]) -> list[str]:
    """Return a sentence for each unnoticed mistake, idle test, and guard that notices a mistake."""
    gaps: list[str] = []
    for matrix in matrices:
        survivors = [name for name, row in matrix.rows.items() if not any(row)]
        gaps += [f"{matrix.exercise}: no hidden test notices {name}" for name in survivors]
        gaps += idle_tests(matrix)
    return gaps


def idle_tests(matrix: ExerciseMatrix) -> list[str]:
    """Return a sentence for each test that judges no mistake wrong, and each guard that does."""
    found: list[str] = []
    for column, test in enumerate(() if matrix.borrowed else matrix.tests):
        kills = matrix.kills(column)
        if not kills and not test.guard:
            found.append(f"{test.name} notices no mistake; add one, or mark the test guard=True")
        if kills and test.guard:
            names = [name for name, row in matrix.rows.items() if row[column] == JUDGED]
            told = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            noticed = f"{plural(kills, 'mistake')} of {matrix.exercise} ({told})"
            found.append(f"{test.name} is marked as a guard but notices {noticed}")
    return found


TITLE = """# Which hidden test notices which mistake

*This page is generated by `tensorgrade kill-matrix`. You do not have to read it: the command
reports every gap, and with `--check` it fails if there is a gap or if this page is stale.*

The command puts each known mistake into the solution and runs the hidden tests of its exercise, on
the hidden cases.

- `●`: the test judged the result wrong. `○`: the code failed before there was a result. Empty: the
  test passed.
- At least one test notices each mistake.
- Each test judges at least one mistake wrong, or is a *guard* against mistakes that are not listed
  yet. A guard that notices a listed mistake is reported.
"""


def kill_page(project: Project, noticed: Noticed | None = None) -> tuple[str, list[ExerciseMatrix]]:
    """Return the page's text, and the matrices that it shows. noticed: see `kill_matrix`."""
    matrices = kill_matrix(project, noticed)
    mistakes = sum(len(matrix.rows) for matrix in matrices)
    tests = [test for matrix in matrices for test in matrix.tests]
    guards = plural(sum(test.guard for test in tests), "guard")
    totals = f"{mistakes} mistakes, {len(tests)} hidden tests ({guards}).\n"
    return "\n".join([TITLE, totals, summary(matrices), *map(section, matrices)]), matrices


def summary(matrices: list[ExerciseMatrix]) -> str:
    """Return a table with a line for each exercise."""
    rows = [
        (
            f"[{m.exercise}](#{m.exercise.lower()})",
            len(m.rows),
            len(m.tests),
            sum(t.guard for t in m.tests),
        )
        for m in matrices
    ]
    return table(("exercise", "mistakes", "tests", "guards"), rows)


def section(matrix: ExerciseMatrix) -> str:
    """Return one exercise's section: its tests by letter, then a row for each mistake."""
    letters = [chr(ord("a") + column) for column in range(len(matrix.tests))]
    tests = []
    for column, (letter, test) in enumerate(zip(letters, matrix.tests, strict=True)):
        said = test.asks + (" *(guard)*" if test.guard else "")
        judged, broken = matrix.kills(column), matrix.kills(column, BROKEN)
        tests.append((letter, said, judged, broken, matrix.alone(column)))
    rows = [(f"`{name}`", *row) for name, row in matrix.rows.items()]
    parts = [
        f"## {matrix.exercise}\n",
        table(TEST_COLUMNS, tests),
        table(("mistake", *letters), rows),
    ]
    return "\n".join(parts)


TEST_COLUMNS = ("", "test", "judged wrong", "code failed", "noticed only by this test")


def table(header: tuple, rows: list[tuple]) -> str:
    """Return a Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
