"""Prove a course: checks notice every known mistake, and solutions pass.

A mistake that no check notices would earn full points. A check that notices no mistake gives its
points to everyone with known mistakes only. The build recorded what each mistake does.
"""

import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from ..attempts.scoring import MOST
from ..built import refuse_unbuilt
from ..course import Chapter
from ..exchange.references import load_references
from ..project import Project
from ..recognition.fingerprints import load_fingerprints
from ..views.words import plural
from .building import is_due
from .mistakes import Mistake, shared_mistakes, told_apart
from .recording import recordings_of


class Trial(NamedTuple):
    """A known mistake in an exercise, its share of the points, and the checks that it fails."""

    exercise: str
    mistake: Mistake
    cost: float
    fails: tuple[str, ...]


def prove(project: Project) -> tuple[list[str], list[str]]:
    """Return what was found out, line by line, and a sentence for each gap.

    Raise CourseError if the course changed since the last build.
    """
    chapters = project.course.chapters
    refuse_unbuilt(project.graders, project.course, [chapter.name for chapter in chapters])
    trials = [one for chapter in chapters for one in trials_of(project, chapter)]
    shared, nowhere = where_shared(project, trials)
    report = [*prices(trials), "", *shared, "", *idle_checks(project, trials)]
    report.append(f"{plural(len(trials), 'mistake')} on hidden cases")
    gaps = [f"{t.exercise}: no check notices {t.mistake.name}" for t in trials if not t.fails]
    gaps += nowhere
    gaps += [
        f"pairs of mistakes in {one.exercise} are still to be made: tensorgrade build"
        for one in recordings_of(project, chapters)
        if not one.hidden and is_due(one, True)
    ]
    return report, [*gaps, *failing_solutions(project), *unnoticed_bugs(project)]


def trials_of(project: Project, chapter: Chapter) -> Iterator[Trial]:
    """Yield the trials of a chapter's known mistakes. Raise CourseError."""
    stored = load_fingerprints(project.graders, chapter.name)
    for name in (exercise.name for exercise in chapter.exercises):
        prints = {one.mistakes: one for one in stored.of(name)}
        for mistake in told_apart(project, name):
            found = prints[(mistake.name,)]
            cost = min(MOST, found.share) if mistake.price is None else mistake.price
            yield Trial(name, mistake, cost, found.fails)


def prices(trials: list[Trial]) -> list[str]:
    """Return a line for each mistake with its deduction, the largest of each exercise first."""
    lines = [f"{'exercise':<28} {'mistake':<40} costs"]
    for t in sorted(trials, key=lambda t: (t.exercise, -t.cost, t.mistake.name)):
        lines.append(f"{t.exercise:<28} {t.mistake.name:<40} {t.cost:>5.0%}")
    return lines


def where_shared(project: Project, trials: list[Trial]) -> tuple[list[str], list[str]]:
    """Return a line for each shared mistake that applies somewhere, and for each other one."""
    found: dict[str, list[str]] = {}
    for one in trials:
        if one.mistake.shared:
            found.setdefault(one.mistake.name, []).append(one.exercise)
    places = {one.name: one.place for one in shared_mistakes(project) if one.name not in found}
    return [f"{name} applies in {', '.join(exercises)}" for name, exercises in found.items()], [
        f"{place}: {name} applies nowhere: in each exercise its text is not there exactly once, or "
        "it changes nothing, or looks like an earlier mistake"
        for name, place in places.items()
    ]


def idle_checks(project: Project, trials: list[Trial]) -> list[str]:
    """Return a line for each check that no mistake fails."""
    failed = {(one.exercise, says) for one in trials for says in one.fails}
    return [
        f"{exercise.name} notices no mistake: {check.says}"
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        for check in exercise.checks
        if check.points and not exercise.like and (exercise.name, check.says) not in failed
    ]


def failing_solutions(project: Project) -> list[str]:
    """Return a message if the solutions fail the hidden checks or the learner's own checks."""
    words = ["-m", "pytest", "-q", "graders", "exercises", "--attempt", "solutions"]
    run = subprocess.run([sys.executable, *words], cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own checks:\n{run.stdout[-2000:]}"] if run.returncode else []


def unnoticed_bugs(project: Project) -> list[str]:
    """Return a sentence for each find-the-bug exercise whose given code passes all checks."""
    return [
        f"{folder.name}: no check notices the bug of {exercise.name}"
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        for folder in (project.graders, project.exercises)
        if exercise.like
        and not load_references(folder, chapter.name, [exercise.name]).unfixed[exercise.name]
    ]
