"""Say that a call is wrong only because of the calls before it."""

from dataclasses import replace

from ...exchange.cases import Case, last_call_alone
from ...exchange.observation import Observation
from ...judging.diagnosis import Diagnosis, Kind
from ...messages.details import KeepsState
from ...messages.message import Clauses
from ..attempt import ExerciseAttempt, cached_for_file
from ..recognized import mistakes

# The kinds of failures that earlier calls may cause.
AFTER_OTHERS = {Kind.ERROR, Kind.SHAPE, Kind.NAN, Kind.VALUES, Kind.FACT}


def add(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Add `KeepsState` to the diagnosis if a call is right when it runs alone."""
    case = next((seen.case for seen in part.seen if seen.case.name == diagnosis.case), None)
    if diagnosis.kind not in AFTER_OTHERS or case is None or last_call_alone(case) is None:
        return diagnosis
    if not keeps_state(part):
        return diagnosis
    return replace(diagnosis, problem=Clauses((diagnosis.problem, KeepsState())))


@cached_for_file
def keeps_state(part: ExerciseAttempt) -> bool:
    """Return True if a call of a public case is wrong, but right without the calls before it.

    This is tried only if no known mistake explains the results and all cases with one call are
    right. Without public cases, return False.
    """
    public = part.attempt.public()
    single = (seen for seen in part.claimed if last_call_alone(seen.case) is None)
    if public is None or mistakes(part) or not all(part.is_right(*seen) for seen in single):
        return False
    entries = [
        (case, *alone, expected)
        for case, expected in public.of(part.name)
        if case.has_right_values and (alone := last_call_alone(case))
    ]
    part.attempt.lab.close()  # otherwise state that was stored in earlier cases would remain
    by_itself = part.attempt.run_public([alone for _, alone, _, _ in entries])
    after_others = part.attempt.run_public([case for case, *_ in entries])
    return any(
        last in after.facts  # the calls before it finished
        and gives(part, case, last, expected, alone)
        and not gives(part, case, last, expected, after)
        for (case, _, last, expected), alone, after in zip(
            entries, by_itself, after_others, strict=True
        )
    )


def gives(
    part: ExerciseAttempt, case: Case, call: str, expected: Observation, seen: Observation
) -> bool:
    """Return True if one of a case's calls returned a result and that result is right."""
    own = {name: t for name, t in expected.tensors.items() if name.split(".")[0] == call}
    last = replace(expected, tensors=own, facts={})
    return bool(own) and not seen.error and part.is_right(case, last, seen)
