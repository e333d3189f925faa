"""Join everything that there is to say about one failed check."""

from collections.abc import Callable

from ..exchange.observation import Observation
from ..judging.diagnosis import Diagnosis, Finding, Kind, Step
from ..messages.details import OtherCodeRuns
from .attempt import ExerciseAttempt
from .details import cut_gradient, in_place, kept_state, unreachable
from .divergence import divergence_for
from .given_code import is_replaced
from .recognized import mistakes_on

DETAILS: tuple[Callable[[ExerciseAttempt, Diagnosis], Diagnosis], ...] = (
    in_place.add,
    unreachable.add,
    cut_gradient.add,
    kept_state.add,
)


def finding_on(part: ExerciseAttempt, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return all that is to be said about a failed check. asks: the check's own line."""
    if is_replaced(part):
        said = OtherCodeRuns(part.name)
        return Finding(asks, Diagnosis(Kind.FACT, said, diagnosis.called, case=diagnosis.case))
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    for add in () if part.attempt.references.hidden else DETAILS:
        diagnosis = add(part, diagnosis)
    names = () if unfinished else mistakes_on(part, diagnosis.case)
    return Finding(
        asks,
        diagnosis,
        {name: part.attempt.fingerprints.messages[name] for name in names},
        trace=lambda: trace(part, diagnosis.case),
        parting=lambda: None if unfinished else divergence_for(part, diagnosis),
        said=lambda: [] if unfinished else printed_lines(part, diagnosis.case),
    )


def trace(part: ExerciseAttempt, case: str) -> list[Step]:
    """Run a case once more; return the tensors on the way through the learner's own code."""
    observed = part.attempt.again(part.name, case, "trace")
    return read_trace(observed) if observed else []


def printed_lines(part: ExerciseAttempt, case: str) -> list[str]:
    """Run a case once more; return the first lines that the learner's own code prints."""
    may_print = part.attempt.handed_in.prints_when_called
    observed = part.attempt.again(part.name, case, "aloud") if may_print else None
    return read_said(observed) if observed else []


def read_trace(observed: Observation) -> list[Step]:
    """Return the trace of a case's last call, as claimed: entries of another form are left out."""
    traces = [
        facts["trace"]
        for facts in observed.facts.values()
        if isinstance(facts, dict) and "trace" in facts
    ]
    told = traces[-1] if traces and isinstance(traces[-1], list) else []
    entries = [entry for entry in told if isinstance(entry, list) and len(entry) == 3]
    return [
        (line, name, tuple(size) if isinstance(size, list) else size)
        for line, name, size in entries
        if isinstance(line, int) and isinstance(name, str) and is_size(size)
    ]


def read_said(observed: Observation) -> list[str]:
    """Return the lines that a case's calls printed. They are a claim: only strings are kept."""
    told = [facts.get("said") for facts in observed.facts.values()]
    lines = [line for one in told if isinstance(one, list) for line in one]
    return [line for line in lines if isinstance(line, str)]


def is_size(told: object) -> bool:
    """Return True if a claim is a shape or an integer."""
    if isinstance(told, list):
        return all(isinstance(size, int) for size in told)
    return type(told) is int
