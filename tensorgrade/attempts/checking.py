"""Turn the errors of an exercise's checks into findings for its learner."""

from dataclasses import replace

from ..course import Check
from ..judging.checks.modules import START
from ..judging.diagnosis import Diagnosis, Finding, Kind, Wrong
from .attempt import Answer
from .details import DETAILS, defined_twice, plain_fact
from .public_side import printed_lines, trace
from .recognized import mistakes
from .results import CheckResult
from .where import where


def checked(answer: Answer, check: Check, error: Exception | None) -> CheckResult:
    """Return the result of a check. An error of the check itself fails it, without a finding."""
    finding = finding_of(answer, check, error) if isinstance(error, Wrong) else None
    name, unfixed = answer.name, answer.attempt.references.unfixed
    given = bool(answer.given_code) and check.says not in unfixed[name]
    return CheckResult(name, check.points, error is None, check.says, finding, given=given)


def finding_of(answer: Answer, check: Check, error: Wrong) -> Finding:
    """Return the finding on a failed check."""
    diagnosis = error.diagnosis
    if answer.is_as_given:  # the learner has not changed the given code: it is still to do
        problem = f"not fixed yet: {diagnosis.problem}"
        diagnosis = replace(diagnosis, kind=Kind.TO_DO, problem=problem, id="not_fixed_yet")
    return finding_on(answer, check.says, diagnosis)


def finding_on(answer: Answer, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = diagnosis.id == START
    hidden = answer.attempt.references.hidden
    if not hidden:
        for add in DETAILS:
            diagnosis = add(answer, diagnosis)
    names = () if unfinished else mistakes(answer)
    # If learner code raised an error, only the values on the path to it count. Its line is certain,
    # and other values would distract from it.
    error = diagnosis.error
    raised = bool(error and error.line)
    fact, fact_line = "", None
    if not unfinished and not hidden:
        fact, fact_line = plain_fact(answer) or (defined_twice(answer), None)
    return Finding(
        asks,
        diagnosis,
        {name: answer.attempt.side.fingerprints.messages[name] for name in names},
        trace=lambda: trace(answer, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_where=lambda: None if unfinished or other_weights else where(answer, raised),
        said=lambda: [] if unfinished else printed_lines(answer, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (answer.line_of(error) if error else None),
        place=answer.attempt.place,
    )
