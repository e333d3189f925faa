"""Turn one submission of a chapter into its verdicts: load, run, check, score, tell.

Each step makes a new record and changes none:

    load      the learner's file, in the process of its cases    attempt.py    Attempt
    run       the cases of each exercise                         naming.py     Answer
    check     the exercise's checks on the observed results      checking.py   CheckResult
    score     the points that each check earns                   scoring.py    Judged
    tell      one message for the learner, and its line          told.py       Told
"""

import logging
from dataclasses import replace

from ..course import CourseError
from ..exchange.observation import Outcome
from ..exchange.text import sentence
from .attempt import Attempt
from .points import sums
from .recognized import mistakes, same_answers
from .results import Judged, is_wrong
from .scoring import judged_on
from .told import told
from .verdict import Status, Verdict

# Explaining failed, which is a fault of the graders. The points are valid.
NOT_EXPLAINED = (
    "This could not be explained, which is not your fault. Your instructor can look at it."
)
# Wrong answers with these statuses and without a known mistake are grouped by their results.
GROUPED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


def grade(student: str, attempt: Attempt) -> list[Verdict]:
    """Return the verdicts on one submission of a chapter, one for each exercise."""
    judged = judged_on(attempt, attempt.exercises)
    return [verdict_or_points(student, one) for one in judged.values()]


def verdict_or_points(student: str, judged: Judged) -> Verdict:
    """Return the verdict on one exercise; if explaining it fails, return its points only.

    Such a failure is a fault of the engine on this one answer. It costs no points.
    """
    try:
        return verdict(student, judged)
    except CourseError:
        raise  # the course or this machine is at fault, for all learners
    except Exception:
        name = judged.answer.name
        logging.exception("%s of %s: the mistake could not be explained", name, student)
        return unexplained_verdict(student, judged)


def verdict(student: str, judged: Judged) -> Verdict:
    """Return the verdict on one exercise, from its observed results and its checks."""
    answer, bare = judged.answer, unexplained_verdict(student, judged)
    said = told(judged, bare.status)
    names = [] if bare.status == Status.PASSED or judged.excused_by else list(mistakes(answer))
    group = "" if names or bare.status not in GROUPED else group_of(judged)
    note = sentence(dict(answer.attempt.source.notes).get(answer.name, ""))
    return replace(
        bare,
        mistakes=names,
        message=" ".join(filter(None, (said.message, note))),
        message_id=said.id,
        line=said.line,
        group=group,
        code=answer.attempt.submitted.text if group else "",
    )


def unexplained_verdict(student: str, judged: Judged) -> Verdict:
    """Return the points and the status of an exercise, without an explanation."""
    answer, points = judged.answer, round(float(sums(judged.checks)[0]), 6)
    chapter = answer.attempt.chapter
    most = float(chapter.exercise(answer.name).points)
    return Verdict(
        student,
        chapter.name,
        answer.name,
        points,
        most,
        status_of(judged, points, most),
        message=NOT_EXPLAINED,
        message_id="not_explained",
        isolation=answer.attempt.lab.isolation,
    )


def group_of(judged: Judged) -> str:
    """Return a name shared by wrong answers with the same results; "" for other answers."""
    answer, loaded = judged.answer, judged.answer.attempt.loaded
    ran = loaded.status == Outcome.LOADED and not loaded.failure_of(answer.name)
    shared = ran and not judged.excused_by and is_wrong(judged.checks)
    return same_answers(answer) if shared else ""


def status_of(judged: Judged, points: float, most: float) -> Status:
    """Return the status of an exercise.

    If only an earlier exercise is wrong, this one may end in its error, so the points alone decide.
    """
    answer = judged.answer
    if judged.excused_by:
        return Status.PASSED if points >= most else Status.PARTIAL
    ends = {seen.observed.status for seen in answer.seen}
    errors = [seen.observed.error for seen in answer.seen]
    if Outcome.KILLED in ends or Outcome.TIMEOUT in ends:
        return Status.KILLED if Outcome.KILLED in ends else Status.TIMEOUT
    loaded = answer.attempt.loaded
    if loaded.status != Outcome.LOADED or loaded.failure_of(answer.name):
        return Status.ERROR
    if points >= most:
        return Status.PASSED
    missing = [error and (error.missing or error.is_unwritten) for error in errors]
    if answer.is_as_given or all(missing):
        return Status.NOT_ATTEMPTED
    if all(errors):
        return Status.ERROR
    return Status.PARTIAL if points else Status.FAILED
