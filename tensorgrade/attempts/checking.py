"""Run an exercise's checks on what was observed, and report all that a failed one found."""

from collections.abc import Collection
from dataclasses import replace

from ..course import Check
from ..judging.checks.modules import START
from ..judging.diagnosis import Diagnosis, Finding, Kind, Wrong
from .attempt import Attempt, ExerciseAttempt
from .details import DETAILS, plain_fact
from .public_side import printed_lines, trace
from .recognized import mistakes
from .results import CheckResult, Results
from .where import where


def check_results(attempt: Attempt, exercises: Collection[str]) -> Results:
    """Check these exercises by the observations made so far, in the order of the chapter."""
    parts = [part for name, part in attempt.exercises.items() if name in exercises]
    return {part.name: [checked(part, check) for check in part.checks] for part in parts}


def checked(part: ExerciseAttempt, check: Check) -> CheckResult:
    """Return the result of a check. An error of the check itself fails it, without a finding."""
    error = part.failure(check)
    finding = finding_of(part, check, error) if isinstance(error, Wrong) else None
    given = bool(part.given_code) and check.says not in part.attempt.references.unfixed[part.name]
    return CheckResult(part.name, check.points, error is None, check.says, finding, given=given)


def finding_of(part: ExerciseAttempt, check: Check, error: Wrong) -> Finding:
    """Return the finding on a failed check."""
    diagnosis = error.diagnosis
    if part.is_as_given:  # the learner has not changed the given code: it is still to do
        problem = f"not fixed yet: {diagnosis.problem}"
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=problem, id="not_fixed_yet")
    return finding_on(part, check.says, diagnosis)


def finding_on(part: ExerciseAttempt, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = diagnosis.id == START
    hidden = part.attempt.references.hidden
    if not hidden:
        for add in DETAILS:
            diagnosis = add(part, diagnosis)
    names = () if unfinished else mistakes(part)
    # If learner code raised an error, only the values on the path to it count. Its line is certain,
    # and other values would distract from it.
    error = diagnosis.error
    raised = bool(error and error.line)
    fact, fact_line = "", None
    if not unfinished and not hidden:
        fact, fact_line = plain_fact(part) or ("", None)
    return Finding(
        asks,
        diagnosis,
        {name: part.attempt.side.fingerprints.messages[name] for name in names},
        trace=lambda: trace(part, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(part, raised),
        said=lambda: [] if unfinished else printed_lines(part, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (part.line_of(error) if error else None),
        place=part.attempt.place,
    )
