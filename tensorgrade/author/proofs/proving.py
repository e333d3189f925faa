"""Prove a course: checks notice every known mistake, names are right, solutions and bugs too.

A mistake that no check notices would earn full points. A check that notices no mistake gives its
points to everyone with known mistakes only.
"""

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from ...attempts.attempt import Attempt
from ...attempts.lab import Lab
from ...attempts.maker import AttemptMaker
from ...attempts.pipeline import verdict
from ...attempts.points import SMALL, sums
from ...attempts.recognized import mistakes as named_in
from ...attempts.results import CheckResult
from ...attempts.scoring import judged_on, results_on
from ...attempts.setup import Setup
from ...attempts.verdict import Status
from ...course import Chapter, Exercise
from ...judging.diagnosis import NO_RESULT
from ...processes import side_by_side
from ...project import Project
from ...recognition.edits import make, place_of
from ...sandbox.processes import ENVIRONMENT
from ...views.words import plural
from ..building.bugs import given_code
from ..building.building import without_pairs
from ..mistakes import Mistake, shared_mistakes, told_apart

NO_COMPILER = "TORCHDYNAMO_DISABLE"


@dataclass(frozen=True)
class Trial:
    """A known mistake in the solution of an exercise, judged on hidden cases.

    named: the names that it was given. cost: the share of the points that it loses, from 0 to 1.
    noticed: the sentences of the checks that failed. judged: those of them that had a result.
    """

    exercise: str
    mistake: str
    shared: bool
    named: tuple[str, ...]
    cost: float
    noticed: tuple[str, ...]
    judged: tuple[str, ...]


def prove(project: Project) -> tuple[list[str], list[str]]:
    """Return what was found out, line by line, and a sentence for each gap."""
    trials = every_trial(project)
    report = [*prices(trials), "", *where_shared(trials), "", *idle_checks(project, trials)]
    named = sum(one.named == (one.mistake,) for one in trials)
    report.append(
        f"{plural(len(trials), 'mistake')} on hidden cases, {named} named by its own name"
    )
    pairs = [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project)
    ]
    gaps = [f"{t.exercise}: no check notices {t.mistake}" for t in trials if not t.noticed]
    gaps += applied_nowhere(project, trials)
    return report, [*gaps, *pairs, *failing_solutions(project), *unproved_bugs(project)]


class MadeAttempts:
    """A factory of attempts for one folder of checks.

    The attempts run in this process, so it is only for code that we wrote.
    """

    def __init__(self, project: Project, tests: Path):
        self.project, self.maker = project, AttemptMaker(Setup(tests, "none"))

    def source(self, chapter: str) -> str:
        """Return the text of a chapter's solution."""
        return self.project.solution(chapter).read_text(encoding="utf-8")

    def wrong(self, chapter: str, exercise: str, mistake: Mistake) -> Attempt:
        """Return the solution with a mistake in an exercise. Raise EditError if it does not fit."""
        return self.attempt(chapter, make(self.source(chapter), exercise, mistake.edits))

    def attempt(self, chapter: str, source: str, bugs: dict[str, str] | None = None) -> Attempt:
        """Return any source text as an attempt. bugs: the given code of find-the-bug exercises."""
        program, lab = self.project.program(chapter, source), Lab(None, self.project.course.limits)
        attempt = self.maker.attempt_with(lab, program)
        attempt.references = replace(attempt.references, bugs=bugs or {})
        return attempt


# --- known mistakes ---------------------------------------------------------------------------


def every_trial(project: Project) -> list[Trial]:
    """Return the trials of all known mistakes, in the course's order. Chapters run in parallel."""
    names = [chapter.name for chapter in project.course.chapters]
    # Some mistakes cause torch warnings.
    with side_by_side(None, warnings.simplefilter, "ignore") as pool:
        # The last chapter takes longest, so it starts first.
        jobs = {name: pool.submit(trials_of, str(project.root), name) for name in reversed(names)}
        return [trial for name in names for trial in jobs[name].result()]


def trials_of(root: str, chapter: str) -> list[Trial]:
    """Return the trials of one chapter's known mistakes, run on one thread."""
    torch.set_num_threads(1)
    os.environ[NO_COMPILER] = ENVIRONMENT[NO_COMPILER]  # as in the processes that grade
    project = Project(Path(root))
    made = MadeAttempts(project, project.graders)
    return [
        trial(made, chapter, exercise.name, mistake)
        for exercise in project.course.chapter(chapter).exercises
        for mistake in told_apart(project, exercise.name)
    ]


def trial(made: MadeAttempts, chapter: str, exercise: str, mistake: Mistake) -> Trial:
    """Return the trial of one mistake."""
    attempt = made.wrong(chapter, exercise, mistake)
    results = results_on(attempt, exercise)[exercise]
    failed = [result for result in results if not result.passed]
    earned, most = sums(results)
    return Trial(
        exercise,
        mistake.name,
        mistake.shared,
        named_in(attempt.answers[exercise]),
        1 - earned / most,
        tuple(result.asks for result in failed),
        tuple(result.asks for result in failed if has_judged(result)),
    )


def has_judged(result: CheckResult) -> bool:
    """Return True if a failed check had a result to judge."""
    finding = result.finding
    return finding is not None and finding.diagnosis.kind not in NO_RESULT


def prices(trials: list[Trial]) -> list[str]:
    """Return a line for each mistake with its deduction, the largest of each exercise first."""
    lines = [f"{'exercise':<28} {'mistake':<40} costs"]
    for t in sorted(trials, key=lambda t: (t.exercise, -t.cost, t.mistake)):
        other = "" if t.named == (t.mistake,) else f"  named {' + '.join(t.named) or 'nothing'}"
        lines.append(f"{t.exercise:<28} {t.mistake:<40} {t.cost:>5.0%}{other}")
    return lines


def where_shared(trials: list[Trial]) -> list[str]:
    """Return a line for each shared mistake: in which exercises it applies."""
    found: dict[str, list[str]] = {}
    for one in trials:
        if one.shared:
            found.setdefault(one.mistake, []).append(one.exercise)
    return [f"{name} applies in {', '.join(exercises)}" for name, exercises in found.items()]


def applied_nowhere(project: Project, trials: list[Trial]) -> list[str]:
    """Return a sentence for each shared mistake that applies in no exercise."""
    applied = {one.mistake for one in trials}
    left = {one.name: one.place for one in shared_mistakes(project) if one.name not in applied}
    return [f"{place}: {name} applies in no exercise" for name, place in left.items()]


def idle_checks(project: Project, trials: list[Trial]) -> list[str]:
    """Return a line for each check that judges no mistake wrong."""
    exercises = [e for chapter in project.course.chapters for e in chapter.exercises if not e.like]
    judged = {(one.exercise, says) for one in trials for says in one.judged}
    return [
        f"{exercise.name} notices no mistake: {check.says}"
        for exercise in exercises
        for check in exercise.checks
        if check.points and (exercise.name, check.says) not in judged
    ]


# --- solutions and bugs -----------------------------------------------------------------------


def failing_solutions(project: Project) -> list[str]:
    """Return a message if the solutions fail the hidden checks or the learner's own checks."""
    words = ["-m", "pytest", "-q", "graders", "exercises", "--attempt", "solutions"]
    command = [sys.executable, *words]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own checks:\n{run.stdout[-2000:]}"] if run.returncode else []


def unproved_bugs(project: Project) -> Iterator[str]:
    """Yield a sentence for each find-the-bug exercise that is judged wrongly, on either side."""
    asked = [
        (chapter, exercise)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        if exercise.like
    ]
    for tests in (project.graders, project.exercises) if asked else ():
        made = MadeAttempts(project, tests)
        for chapter, exercise in asked:
            for said in judged_otherwise(made, chapter, exercise):
                yield f"{tests.name}: {said}"


def judged_otherwise(made: MadeAttempts, chapter: Chapter, exercise: Exercise) -> Iterator[str]:
    """Yield a sentence for each wrong verdict on code with a bug: as given, fixed or rewritten."""
    name, most, right = exercise.name, exercise.points, made.source(chapter.name)
    given = given_code(made.project.solution(chapter.name), name)
    for how, source, status, points in (
        ("as it is given", given, Status.NOT_ATTEMPTED, 0.0),
        ("repaired", right, Status.PASSED, most),
        ("rewritten", rewritten(right, exercise), Status.PARTIAL, most * (1 - SMALL)),
    ):
        attempt = made.attempt(chapter.name, source, {name: given})
        got = verdict("", judged_on(attempt, [name])[name])
        if (got.status, got.points) != (status, points):
            yield (
                f"{name}, {how}, is {got.status} with {got.points:g} points; it should be "
                f"{status} with {points:g}"
            )


def rewritten(text: str, exercise: Exercise) -> str:
    """Return a solution in which a find-the-bug exercise is rewritten instead of fixed.

    The new definition is a copy of the exercise whose checks judge it.
    """
    first, last = place_of(text, exercise.like)
    definition = "\n".join(text.splitlines()[first:last])
    return f"{text}\n\n" + re.sub(rf"\b{exercise.like}\b", exercise.name, definition) + "\n"
