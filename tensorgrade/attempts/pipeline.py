"""Turn one submission of a chapter into its verdicts: load, run, check, score, tell.

An attempt keeps facts for later steps, such as the earlier exercise to blame. The steps are:

    load      the learner's file, in the process of its cases    attempt.py
    run       the cases of each exercise                         attempt.py
    check     the exercise's checks on the observed results      checking.py, judging/checks/
    score     the points that each check earns                   scoring.py, points.py
    tell      one message for the learner, and its line          told.py
"""

import logging
from dataclasses import replace

from ..course import CourseError, Exercise
from ..exchange.observation import Outcome
from ..exchange.text import sentence
from .attempt import Attempt, ExerciseAttempt
from .recognized import mistakes, same_answers
from .results import CheckResult, Results, is_wrong
from .scoring import results_on
from .told import told
from .verdict import Status, Verdict

# Explaining failed, which is a fault of the graders. The points are valid.
NOT_EXPLAINED = (
    "This could not be explained, which is not your fault. Your instructor can look at it."
)
# Wrong answers with these statuses and without a known mistake are grouped by their results.
GROUPED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


def grade(student: str, attempt: Attempt) -> list[Verdict]:
    """Return the verdicts on one submission of a chapter."""
    return verdicts_on(student, attempt, results_on(attempt))


def verdicts_on(student: str, attempt: Attempt, results: Results) -> list[Verdict]:
    """Return one verdict for each exercise of a chapter, from the results of all checks."""
    return [
        verdict_or_points(student, one, attempt.exercises[one.name], results[one.name])
        for one in attempt.chapter.exercises
    ]


def verdict_or_points(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """Return the verdict on one exercise; if explaining it fails, return its points only.

    Such a failure is a fault of the engine on this one answer. It costs no points.
    """
    try:
        return verdict(student, exercise, part, checks)
    except CourseError:
        raise  # the course or this machine is at fault, for all learners
    except Exception:
        logging.exception("%s of %s: the mistake could not be explained", exercise.name, student)
        return unexplained_verdict(student, exercise, part, checks)


def verdict(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """Return the verdict on one exercise, from its observed results and its checks."""
    bare = unexplained_verdict(student, exercise, part, checks)
    said = told(part, bare.status, checks)
    names = [] if bare.status == Status.PASSED or part.excused_by else list(mistakes(part))
    group = "" if names or bare.status not in GROUPED else group_of(part, checks)
    note = sentence(dict(part.attempt.source.notes).get(part.name, ""))
    return replace(
        bare,
        mistakes=names,
        message=" ".join(filter(None, (said.message, note))),
        message_id=said.id,
        line=said.line,
        group=group,
        code=part.attempt.submitted.text if group else "",
    )


def unexplained_verdict(
    student: str, exercise: Exercise, part: ExerciseAttempt, checks: list[CheckResult]
) -> Verdict:
    """Return the points and the status of an exercise, without an explanation."""
    points = round(float(sum(check.earned for check in checks)), 6)
    return Verdict(
        student,
        part.attempt.chapter.name,
        exercise.name,
        points,
        float(exercise.points),
        status_of(part, points, exercise.points),
        message=NOT_EXPLAINED,
        message_id="not_explained",
        isolation=part.attempt.lab.isolation,
    )


def group_of(part: ExerciseAttempt, checks: list[CheckResult]) -> str:
    """Return a name shared by wrong answers with the same results; "" for other answers."""
    loaded = part.attempt.loaded
    ran = loaded.status == Outcome.LOADED and not loaded.failure_of(part.name)
    return same_answers(part) if ran and not part.excused_by and is_wrong(checks) else ""


def status_of(part: ExerciseAttempt, points: float, most: float) -> Status:
    """Return the status of an exercise.

    If only an earlier exercise is wrong, this one may end in its error, so the points alone decide.
    """
    if part.excused_by:
        return Status.PASSED if points >= most else Status.PARTIAL
    ends = {seen.observed.status for seen in part.seen}
    errors = [seen.observed.error for seen in part.seen]
    if Outcome.KILLED in ends or Outcome.TIMEOUT in ends:
        return Status.KILLED if Outcome.KILLED in ends else Status.TIMEOUT
    loaded = part.attempt.loaded
    if loaded.status != Outcome.LOADED or loaded.failure_of(part.name):
        return Status.ERROR
    if points >= most:
        return Status.PASSED
    missing = [error and (error.missing or error.is_unwritten) for error in errors]
    if part.is_as_given or all(missing):
        return Status.NOT_ATTEMPTED
    if all(errors):
        return Status.ERROR
    return Status.PARTIAL if points else Status.FAILED
