"""What a learner reads about hidden cases: known mistakes, or the title of a failed check.

Learner code sees hidden inputs, and it controls everything else that a message could repeat. If
public cases are wrong too, a learner reads what they show: they run in a process that has seen no
hidden case, and `pytest exercises/` shows the same.
"""

from dataclasses import replace

from ..judging.diagnosis import Diagnosis, Finding, Kind
from .attempt import ExerciseAttempt, cached_for_file
from .details import plain_fact
from .public_side import on_public_cases
from .recognized import mistakes
from .results import CheckResult, first_failure
from .scoring import run_and_score
from .where import where_mistakes_are


def as_told(part: ExerciseAttempt, first: CheckResult) -> Finding:
    """Return the finding that a learner reads instead of the first failed check on hidden cases."""
    names = {name: part.attempt.fingerprints.messages[name] for name in mistakes(part)}
    public = [] if says_all(part) else public_checks(part)
    found = first_failure(public)
    if found is None or found.finding is None:
        said = on_hidden_inputs(first)
        return Finding("", Diagnosis(Kind.FACT, said, id="on_hidden_inputs"), names)
    told = found.finding.mistakes
    return replace(found.finding, mistakes=told if told.keys() == names.keys() else names)


def says_all(part: ExerciseAttempt) -> bool:
    """Return True if a learner reads only one known mistake and its line, which is known.

    Then the public cases need not run. They are needed to report a fault in the text or a wrong
    earlier exercise.
    """
    if len(mistakes(part)) != 1 or part.noted:
        return False
    _, faulty_line = plain_fact(part) or (None, None)
    return faulty_line is None and where_mistakes_are(part) is not None


@cached_for_file
def public_checks(part: ExerciseAttempt) -> list[CheckResult]:
    """Return the results of the checks on public cases; [] if these did not all give a result."""
    if (public := on_public_cases(part)) is None:
        return []
    other = public.attempt
    names = [*other.called_before(part.name), part.name]
    return [one for one in run_and_score(other, *names) if one.exercise == part.name]


def said_beside(part: ExerciseAttempt, checks: list[CheckResult]) -> list[str]:
    """Return a clause for each check that fails by a fact beside the mistake that is told.

    For hidden cases it is what the same check says of public ones, or else the check's title.
    """
    beside = [check for check in checks if check.beside]
    told = public_checks(part) if beside and part.attempt.references.hidden else beside
    findings = {check.asks: check.finding for check in told}
    found = [(findings.get(check.asks), check) for check in beside]
    return [one.diagnosis.problem if one else on_hidden_inputs(check) for one, check in found]


def on_hidden_inputs(check: CheckResult) -> str:
    """Return a clause on a check that fails with hidden inputs only."""
    title = check.asks.rstrip(".")
    return f"the public checks pass, but with hidden inputs a check fails: “{title}”"
