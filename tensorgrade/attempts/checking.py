"""Run an exercise's checks on what was observed, and report all that a failed one found."""

from dataclasses import replace
from functools import partial

from ..course import Check
from ..judging.diagnosis import Diagnosis, Finding, Kind, Wrong
from .attempt import Attempt, ExerciseAttempt
from .details import DETAILS, plain_fact
from .given_code import is_as_given, is_replaced
from .naming import run
from .public_side import printed_lines, trace
from .recognized import mistakes
from .results import CheckResult, Results
from .where import where


def check_results(attempt: Attempt, *exercises: str) -> Results:
    """Check these exercises (default: all) by the observations made so far."""
    parts = [part for name, part in attempt.exercises.items() if not exercises or name in exercises]
    return {part.name: [checked(part, check) for check in part.checks] for part in parts}


def checked(part: ExerciseAttempt, check: Check) -> CheckResult:
    """Return the result of a check. An error of the check itself fails it, without a finding."""
    try:
        must_hold(part, check)
    except Exception as error:
        return result_of(part, check, error)
    return result_of(part, check, None)


def must_hold(part: ExerciseAttempt, check: Check) -> None:
    """Make a check's calls on an exercise. Raises Wrong if one of them fails."""
    for call in check.calls:
        getattr(part, call.name)(*call.arguments, **call.settings)


def result_of(part: ExerciseAttempt, check: Check, error: Exception | None) -> CheckResult:
    """Return the result of a check that raised this error; None means that it passed."""
    finding = finding_of(part, check, error) if isinstance(error, Wrong) else None
    result = CheckResult(part.name, check.points, error is None, check.says, finding)
    if part.given_code:
        result.given = partial(passes_as_given, part, check)
    return result


def finding_of(part: ExerciseAttempt, check: Check, error: Wrong) -> Finding:
    """Return the finding on a failed check."""
    diagnosis = error.diagnosis
    if is_as_given(part):  # the learner has not changed the given code: it is still to do
        problem = f"not fixed yet: {diagnosis.problem}"
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=problem, id="not_fixed_yet")
    return finding_on(part, check.says, diagnosis)


def finding_on(part: ExerciseAttempt, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    if is_replaced(part):
        said = (
            f"`{part.name}` is right only with help from the rest of your file. In this exercise "
            "it runs alone: change the given lines themselves"
        )
        return Finding(
            asks, Diagnosis(Kind.FACT, said, diagnosis.describe_call, case=diagnosis.case)
        )
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = diagnosis.id == "wrong_start"
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
        {name: part.attempt.fingerprints.messages[name] for name in names},
        trace=lambda: trace(part, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(part, raised),
        said=lambda: [] if unfinished else printed_lines(part, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (part.line_of(error) if error else None),
        place=part.attempt.place,
    )


def passes_as_given(part: ExerciseAttempt, check: Check) -> bool:
    """Return True if the given code of a find-the-bug exercise passes a check, found out once."""
    known, key = part.attempt.own.known, (part.name, part.given_code, repr(check))
    if key not in known:
        given = part.attempt.given
        run(given, [part.name])
        try:
            must_hold(given.exercises[part.name], check)
            known[key] = True
        except Wrong:
            known[key] = False
    return bool(known[key])
