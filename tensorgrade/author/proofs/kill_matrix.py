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
from ..mistakes import told_apart
from ..recording.bugs import mistake_given
from .made_attempts import MadeAttempts

SURVIVED, JUDGED, BROKEN = "", "●", "○"


@dataclass(frozen=True)
class HiddenTest:
    """A test's name, and True if it is marked as a guard."""

    name: str
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

    def kills(self, column: int) -> int:
        """Return the number of mistakes that the test in this column judges wrong."""
        return sum(row[column] == JUDGED for row in self.rows.values())


def kill_matrix(project: Project) -> list[ExerciseMatrix]:
    """Return the matrices of all exercises, in the course's order. Chapters run in parallel."""
    names = [chapter.name for chapter in project.course.chapters]
    # Some mistakes cause torch warnings.
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        # The last chapter takes longest, so it starts first.
        futures = {
            name: pool.submit(chapter_matrix, str(project.root), name) for name in reversed(names)
        }
        return [matrix for name in names for matrix in futures[name].result()]


def chapter_matrix(root: str, chapter: str) -> list[ExerciseMatrix]:
    """Return the matrices of one chapter's exercises, on one thread."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    collected, made = CollectedTests(project.graders), MadeAttempts(project, project.graders)
    exercises = project.course.chapter(chapter).exercises
    return [exercise_matrix(project, collected, made, chapter, e.name) for e in exercises]


def exercise_matrix(
    project: Project, collected: CollectedTests, made: MadeAttempts, chapter: str, exercise: str
) -> ExerciseMatrix:
    """Run every mistake of one exercise against each of its hidden tests."""
    rows, bug = {}, mistake_given(project, chapter, exercise)
    for mistake in [bug] if bug else told_apart(project, exercise):
        attempt = made.wrong(chapter, exercise, mistake)
        rows[mistake.name] = tuple(map(mark, collected.results(attempt, exercise)))
    found = collected.of(chapter, exercise)
    tests = tuple(HiddenTest(test.name, test.guard) for test in found)
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


def totals(matrices: list[ExerciseMatrix]) -> str:
    """Return the numbers of mistakes, of hidden tests and of guards."""
    mistakes = plural(sum(len(matrix.rows) for matrix in matrices), "mistake")
    tests = [test for matrix in matrices for test in matrix.tests]
    guards = plural(sum(test.guard for test in tests), "guard")
    return f"{mistakes}, {plural(len(tests), 'hidden test')} ({guards})"
