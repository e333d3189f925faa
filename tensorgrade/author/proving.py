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
from ..recognition.fingerprints import Fingerprint, load_fingerprints
from ..views.words import plural
from .building import has_pairs
from .mistakes import Mistake, told_apart
from .recording import recordings_of


class Trial(NamedTuple):
    """A known mistake in the solution of an exercise, and what the build recorded of it."""

    exercise: str
    mistake: Mistake
    found: Fingerprint

    @property
    def cost(self) -> float:
        """Return the share of the points that it loses, from 0 to 1."""
        price = self.mistake.price
        return min(MOST, self.found.share) if price is None else price


def prove(project: Project) -> tuple[list[str], list[str]]:
    """Return what was found out, line by line, and a sentence for each gap.

    Raise CourseError if the course changed since the last build.
    """
    refuse_unbuilt(project.graders, project.course, [c.name for c in project.course.chapters])
    trials = trials_of(project)
    report = [*prices(trials), "", *where_shared(trials), "", *idle_checks(project, trials)]
    report.append(f"{plural(len(trials), 'mistake')} on hidden cases")
    unseen = [one for one in trials if not one.found.fails]
    gaps = [f"{one.exercise}: no check notices {one.mistake.name}" for one in unseen]
    gaps += [
        f"pairs of mistakes in {one.exercise} are still to be made: tensorgrade build"
        for one in recordings_of(project, project.course.chapters)
        if not one.hidden and not has_pairs(one)
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
                trials.append(Trial(name, mistake, prints[(mistake.name,)]))
    return trials


def prices(trials: list[Trial]) -> list[str]:
    """Return a line for each mistake with its deduction, the largest of each exercise first."""
    lines = [f"{'exercise':<28} {'mistake':<40} costs"]
    for t in sorted(trials, key=lambda t: (t.exercise, -t.cost, t.mistake.name)):
        lines.append(f"{t.exercise:<28} {t.mistake.name:<40} {t.cost:>5.0%}")
    return lines


def where_shared(trials: list[Trial]) -> list[str]:
    """Return a line for each shared mistake: in which exercises it applies."""
    found: dict[str, list[str]] = {}
    for one in trials:
        if one.mistake.shared:
            found.setdefault(one.mistake.name, []).append(one.exercise)
    return [f"{name} applies in {', '.join(exercises)}" for name, exercises in found.items()]


def idle_checks(project: Project, trials: list[Trial]) -> list[str]:
    """Return a line for each check that no mistake fails."""
    failed = {(one.exercise, says) for one in trials for says in one.found.fails}
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
