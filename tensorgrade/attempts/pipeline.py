"""Turn one submission of a chapter into its verdicts: load, run, check, score, explain.

`grade` and the functions that it calls read from top to bottom. Most steps take and
return records. An attempt also keeps facts for later steps, such as the earlier exercise that is to
blame. The steps are:

    load      the learner's file, in the process of its cases    attempt.py
    run       the cases of each exercise                         attempt.py
    check     the exercise's checks on the observed results      checking.py, judging/checks/
    score     the points that each check earns                   scoring.py, points.py
    explain   the first explainer with an answer                 explanation.py
"""

import logging
from dataclasses import replace

from ..course import CourseError, Exercise
from ..exchange.observation import Outcome
from ..exchange.text import sentences
from .attempt import Attempt, ExerciseAttempt
from .explanation import Evidence, explain
from .given_code import is_as_given, is_replaced
from .hidden_side import as_told, said_beside
from .recognized import mistakes, same_answers
from .results import CheckResult, Topic, first_failure, is_wrong
from .scoring import run_and_score
from .verdict import Status, Verdict

# Explaining failed, which is a fault of the graders. The points are valid.
NOT_EXPLAINED = (
    "This could not be explained, which is not your fault. Your instructor can look at it."
)
# Wrong answers with these statuses and without a known mistake are grouped by their results.
GROUPED = (Status.PARTIAL, Status.FAILED, Status.ERROR)


def grade(student: str, attempt: Attempt) -> list[Verdict]:
    """Return the verdicts on one submission of a chapter."""
    return verdicts_on(student, attempt, run_and_score(attempt))


def verdicts_on(student: str, attempt: Attempt, results: list[CheckResult]) -> list[Verdict]:
    """Return one verdict for each exercise of a chapter, from the results of all checks."""
    return [
        verdict_or_points(
            student,
            exercise,
            attempt.exercises[exercise.name],
            [result for result in results if result.exercise == exercise.name],
        )
        for exercise in attempt.chapter.exercises
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
    evidence = Evidence(part, bare.status, for_learner(part, bare.status, checks))
    explanation = explain(evidence)
    names = [] if bare.status == Status.PASSED or part.excused_by else list(mistakes(part))
    group = "" if names or bare.status not in GROUPED else group_of(part, checks)
    beside = [clause for clause in said_beside(part, checks) if clause not in explanation.message]
    note = dict(part.attempt.source.notes).get(part.name, "")
    return replace(
        bare,
        mistakes=names,
        message=" ".join(filter(None, (explanation.message, sentences(*beside, note)))),
        message_id=explanation.id,
        line=explanation.line,
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


def for_learner(
    part: ExerciseAttempt, status: Status, checks: list[CheckResult]
) -> list[CheckResult]:
    """Return the checks as a learner may see them; from hidden cases, the first failed one."""
    nothing_said = status in (Status.PASSED, Status.TIMEOUT, Status.KILLED)
    if not part.attempt.references.hidden or nothing_said or part.excused_by:
        return checks
    first = first_failure(checks)
    if not first or not first.finding or says_nothing_hidden(part, status, first):
        return checks
    return [replace(first, finding=as_told(part, first))]


def says_nothing_hidden(part: ExerciseAttempt, status: Status, check: CheckResult) -> bool:
    """Return True if the message of a failed check does not depend on a hidden case."""
    if part.attempt.loaded.status != Outcome.LOADED or check.about == Topic.REPAIR_SIZE:
        return True
    return status == Status.NOT_ATTEMPTED and is_plain_stub(part, check)


def is_plain_stub(part: ExerciseAttempt, check: CheckResult) -> bool:
    """Return True if an exercise is unwritten and has no code around the line that raises."""
    diagnosis, text = check.finding and check.finding.diagnosis, part.attempt.submitted
    if not diagnosis or diagnosis.id != "not_written":
        return False
    line = diagnosis.error.line if diagnosis.error else None
    return not line or not (text.goes_on_below(line) or text.comes_behind_code(line))


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
    if is_replaced(part):
        return Status.PARTIAL if points else Status.FAILED
    missing = [error and (error.missing or error.is_unwritten) for error in errors]
    if is_as_given(part) or all(missing):
        return Status.NOT_ATTEMPTED
    if all(errors):
        return Status.ERROR
    return Status.PARTIAL if points else Status.FAILED
