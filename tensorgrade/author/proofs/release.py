"""Proofs of a release: the solutions pass their own checks, and bugs are graded as expected."""

import re
import subprocess
import sys
from collections.abc import Iterator

from ...attempts.pipeline import verdict
from ...attempts.points import SMALL
from ...attempts.scoring import run_and_score
from ...attempts.verdict import Status
from ...course import Chapter, Exercise
from ...project import Project
from ...recognition.edits import place_of
from ..building.building import without_pairs
from ..building.script import given_code
from .made_attempts import MadeAttempts


def unproved_release(project: Project) -> list[str]:
    """Return the problems that block a release."""
    found = [
        f"pairs of mistakes in {exercise} are still to be made: tensorgrade build --pairs"
        for exercise in without_pairs(project)
    ]
    return found + failing_solutions(project) + list(unproved_bugs(project))


def failing_solutions(project: Project) -> list[str]:
    """Return a message if the solutions fail the hidden checks or the learner's own checks."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "graders",
        "exercises",
        "--attempt",
        "solutions",
    ]
    run = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return [f"the solutions fail their own tests:\n{run.stdout[-2000:]}"] if run.returncode else []


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
    anew = rewritten(right, exercise)
    given = given_code(made.project.solution(chapter.name), name)
    for how, source, status, points in (
        ("as it is given", given, Status.NOT_ATTEMPTED, 0.0),
        ("repaired", right, Status.PASSED, most),
        ("rewritten", anew, Status.PARTIAL, most * (1 - SMALL)),
    ):
        attempt = made.attempt(chapter.name, source, {name: given})
        results = run_and_score(attempt, name)
        got = verdict("", exercise, attempt.exercises[name], results)
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
