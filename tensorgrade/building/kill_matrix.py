"""The kill matrix: every known mistake against every hidden test of its exercise.

It proves the graders. A mistake that no test notices would earn full points; a test that notices
no mistake gives its points away.
"""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from ..grading.session import WarmSession
from ..project import Project
from ..results import CheckResult
from .wrong_attempts import Workshop

SURVIVED, JUDGED, BROKEN = "", "●", "○"
# What a test says where the code never got as far as a result; then every test fails.
NO_RESULT = {"error", "missing", "to do", "timeout", "killed"}


@dataclass(frozen=True)
class HiddenTest:
    """A test's name, the line that learners read, and whether it is marked as a guard."""

    name: str
    said: str
    guard: bool


@dataclass(frozen=True)
class ExerciseMatrix:
    """One exercise. rows: by mistake, one of SURVIVED, JUDGED and BROKEN for each test."""

    exercise: str
    tests: tuple[HiddenTest, ...]
    rows: dict[str, tuple[str, ...]]

    def kills(self, column: int, mark: str = JUDGED) -> int:
        """How many mistakes the test in that column notices by its own judgement."""
        return sum(row[column] == mark for row in self.rows.values())

    def alone(self, column: int) -> int:
        """How many mistakes only the test in that column notices."""
        rows = self.rows.values()
        return sum(bool(row[column]) and sum(map(bool, row)) == 1 for row in rows)


def kill_matrix(project: Project) -> list[ExerciseMatrix]:
    """The matrices of all exercises, in the course's order; the chapters run side by side."""
    names = [chapter.name for chapter in project.course.chapters]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context) as pool:
        # The last chapter takes longest, so it starts first.
        futures = {name: pool.submit(chapter_matrix, str(project.root), name) for name in reversed(names)}
        return [matrix for name in names for matrix in futures[name].result()]


def chapter_matrix(root: str, chapter: str) -> list[ExerciseMatrix]:
    """The matrices of one chapter's exercises, on one thread."""
    torch.set_num_threads(1)
    project = Project(Path(root))
    session, workshop = WarmSession(project.graders), Workshop(project, project.graders)
    exercises = project.course.chapter(chapter).exercises
    matrices = [exercise_matrix(project, session, workshop, chapter, e.name) for e in exercises]
    session.close()
    return matrices


def exercise_matrix(
    project: Project, session: WarmSession, workshop: Workshop, chapter: str, exercise: str
) -> ExerciseMatrix:
    """Every mistake of one exercise against each of its hidden tests."""
    rows = {}
    for mistake in project.mistakes:
        if exercise in mistake.edits:
            attempt = workshop.wrong(chapter, exercise, [mistake])
            rows[mistake.name] = tuple(map(mark, session.results(attempt, exercise)))
    tests = (hidden_test(item) for item in session.tests(chapter, exercise))
    return ExerciseMatrix(exercise, tuple(tests), rows)


def hidden_test(item) -> HiddenTest:
    """What the matrix says about a collected test."""
    marker = item.get_closest_marker("exercise")
    said = " ".join((item.function.__doc__ or "").split())
    return HiddenTest(item.name, said, marker.kwargs.get("guard", False))


def mark(result: CheckResult) -> str:
    """Whether a test let a mistake pass, judged it wrong, or only saw the code break."""
    if result.passed:
        return SURVIVED
    return BROKEN if result.diagnosis and result.diagnosis.kind in NO_RESULT else JUDGED


def unproved(matrices: list[ExerciseMatrix]) -> list[str]:
    """One sentence for each gap: a mistake that survives, an idle test, a stale guard."""
    return [gap for matrix in matrices for gap in survivors(matrix) + idle_tests(matrix)]


def survivors(matrix: ExerciseMatrix) -> list[str]:
    """Mistakes that no test notices."""
    return [f"{matrix.exercise}: no hidden test notices {name}"
            for name, row in matrix.rows.items() if not any(row)]


def idle_tests(matrix: ExerciseMatrix) -> list[str]:
    """Tests that judge no mistake wrong and are no guards, and guards that do."""
    found = []
    for column, test in enumerate(matrix.tests):
        kills = matrix.kills(column)
        if not kills and not test.guard:
            found.append(f"{test.name} notices no mistake; add one, or mark the test guard=True")
        if kills and test.guard:
            found.append(f"{test.name} is marked as a guard but notices {kills} mistakes")
    return found
