"""Prove a course: checks notice every known mistake, and solutions pass.

A mistake that no check notices would earn full points. A check that notices no mistake gives its
points to everyone with known mistakes only. The build recorded what each mistake does.
"""

import subprocess
import sys
from typing import NamedTuple

from ..attempts.scoring import MOST
from ..built import refuse_unbuilt
from ..exchange.references import load_references
from ..project import Project
from ..recognition.fingerprints import load_fingerprints
from ..views.words import plural
from .building import without_pairs
from .mistakes import told_apart


class Trial(NamedTuple):
    """A known mistake in the solution of an exercise, judged on hidden cases.

    cost: the share of the points that it loses, from 0 to 1. noticed: the titles of the checks that
    fail.
    """

    exercise: str
    mistake: str
    shared: bool
    cost: float
    noticed: tuple[str, ...]


def prove(project: Project) -> tuple[list[str], list[str]]:
    """Return what was found out, line by line, and a sentence for each gap.

    Raise CourseError if the course changed since the last build.
    """
    refuse_unbuilt(project.graders, project.course, [c.name for c in project.course.chapters])
    trials = trials_of(project)
    report = [*prices(trials), "", *where_shared(trials), "", *idle_checks(project, trials)]
    report.append(f"{plural(len(trials), 'mistake')} on hidden cases")
    gaps = [f"{t.exercise}: no check notices {t.mistake}" for t in trials if not t.noticed]
    gaps += [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project, project.course.chapters)
    ]
    return report, [*gaps, *failing_solutions(project), *unnoticed_bugs(project)]


def trials_of(project: Project) -> list[Trial]:
    """Return the trials of all known mistakes, in the course's order. Raise CourseError."""
    trials = []
    for chapter in project.course.chapters:
        stored = load_fingerprints(project.graders, chapter.name)
        for name in (exercise.name for exercise in chapter.exercises):
            prints = {one.mistakes: one for one in stored.of(name)}
            for mistake in told_apart(project, name):
                found = prints[(mistake.name,)]
                cost = min(MOST, found.share) if mistake.price is None else mistake.price
                trials.append(Trial(name, mistake.name, mistake.shared, cost, found.fails))
    return trials


def prices(trials: list[Trial]) -> list[str]:
    """Return a line for each mistake with its deduction, the largest of each exercise first."""
    lines = [f"{'exercise':<28} {'mistake':<40} costs"]
    for t in sorted(trials, key=lambda t: (t.exercise, -t.cost, t.mistake)):
        lines.append(f"{t.exercise:<28} {t.mistake:<40} {t.cost:>5.0%}")
    return lines


def where_shared(trials: list[Trial]) -> list[str]:
    """Return a line for each shared mistake: in which exercises it applies."""
    found: dict[str, list[str]] = {}
    for one in trials:
        if one.shared:
            found.setdefault(one.mistake, []).append(one.exercise)
    return [f"{name} applies in {', '.join(exercises)}" for name, exercises in found.items()]


def idle_checks(project: Project, trials: list[Trial]) -> list[str]:
    """Return a line for each check that no mistake fails."""
    exercises = [e for chapter in project.course.chapters for e in chapter.exercises if not e.like]
    failed = {(one.exercise, says) for one in trials for says in one.noticed}
    return [
        f"{exercise.name} notices no mistake: {check.says}"
        for exercise in exercises
        for check in exercise.checks
        if check.points and (exercise.name, check.says) not in failed
    ]


def failing_solutions(project: Project) -> list[str]:
    """Return a message if the solutions fail the hidden checks or the learner's own checks."""
    words = ["-m", "pytest", "-q", "graders", "exercises", "--attempt", "solutions"]
    command = [sys.executable, *words]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own checks:\n{run.stdout[-2000:]}"] if run.returncode else []


def unnoticed_bugs(project: Project) -> list[str]:
    """Return a sentence for each find-the-bug exercise whose given code passes all checks."""
    found = []
    for chapter in project.course.chapters:
        for name in (one.name for one in chapter.exercises if one.like):
            for folder in (project.graders, project.exercises):
                if not load_references(folder, chapter.name, [name]).unfixed[name]:
                    found.append(f"{folder.name}: no check notices the bug of {name}")
    return found
