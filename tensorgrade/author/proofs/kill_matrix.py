"""The kill matrix: every known mistake against every check of its exercise on hidden cases.

It proves the graders: a mistake that no check notices would earn full points.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from ...attempts.results import CheckResult
from ...attempts.scoring import run_and_score
from ...judging.diagnosis import NO_RESULT
from ...processes import side_by_side
from ...project import Project
from ...views.words import plural
from ..mistakes import told_apart
from .made_attempts import MadeAttempts

SURVIVED, JUDGED, BROKEN = "", "●", "○"


@dataclass(frozen=True)
class ExerciseMatrix:
    """The matrix of one exercise.

    checks: their sentences. rows: for each mistake, one of SURVIVED, JUDGED and BROKEN for each
    check.
    """

    exercise: str
    checks: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]

    @property
    def idle(self) -> list[str]:
        """Return the checks that judge no mistake wrong."""
        rows = self.rows.values()
        return [
            says
            for column, says in enumerate(self.checks)
            if all(row[column] != JUDGED for row in rows)
        ]


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
    made = MadeAttempts(project, project.graders)
    exercises = [one for one in project.course.chapter(chapter).exercises if not one.like]
    return [exercise_matrix(made, chapter, exercise.name) for exercise in exercises]


def exercise_matrix(made: MadeAttempts, chapter: str, exercise: str) -> ExerciseMatrix:
    """Run every mistake of one exercise against each of its checks."""
    rows = {}
    for mistake in told_apart(made.project, exercise):
        attempt = made.wrong(chapter, exercise, mistake)
        rows[mistake.name] = tuple(map(mark, run_and_score(attempt, exercise)))
    checks = made.right(chapter).exercises[exercise].checks
    return ExerciseMatrix(exercise, tuple(check.says for check in checks), rows)


def mark(result: CheckResult) -> str:
    """Return SURVIVED if the check passed, BROKEN if it got no result to judge, or else JUDGED."""
    if result.passed:
        return SURVIVED
    finding = result.finding
    return BROKEN if finding and finding.diagnosis.kind in NO_RESULT else JUDGED


def unproved(matrices: list[ExerciseMatrix]) -> list[str]:
    """Return a sentence for each mistake that no check notices."""
    return [
        f"{matrix.exercise}: no check notices {name}"
        for matrix in matrices
        for name, row in matrix.rows.items()
        if not any(row)
    ]


def totals(matrices: list[ExerciseMatrix]) -> str:
    """Return the numbers of mistakes and of checks, and the checks that notice no mistake."""
    mistakes = plural(sum(len(matrix.rows) for matrix in matrices), "mistake")
    checks = plural(sum(len(matrix.checks) for matrix in matrices), "check")
    idle = [f"{one.exercise} notices no mistake: {says}" for one in matrices for says in one.idle]
    return "\n".join([f"{mistakes}, {checks} on hidden cases", *idle])
