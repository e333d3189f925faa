"""Everything that can be reported about one failed check."""

from collections.abc import Callable

from ..judging.diagnosis import Diagnosis, Finding, Kind
from ..messages.checks import ConstantInitialWeights, SetsASeed
from ..messages.details import OtherCodeRuns
from .attempt import ExerciseAttempt
from .details import in_place, in_text, state_between_calls
from .divergence import divergence
from .given_code import is_replaced
from .public_side import printed_lines, trace
from .recognized import mistakes_on

# Functions that add to the diagnosis of a failed check, from the text or from other runs of public
# cases.
DETAILS: tuple[Callable[[ExerciseAttempt, Diagnosis], Diagnosis], ...] = (
    in_place.add,
    in_text.still_raises,
    in_text.stops_gradients,
    in_text.shows_forbidden_call,
    state_between_calls.add,
)


def finding_on(part: ExerciseAttempt, asks: str, diagnosis: Diagnosis) -> Finding:
    """Return everything to report about a failed check. asks: the check's description."""
    if is_replaced(part):
        said = OtherCodeRuns(part.name)
        return Finding(asks, Diagnosis(Kind.FACT, said, diagnosis.called, case=diagnosis.case))
    unfinished = diagnosis.kind in (Kind.TO_DO, Kind.TIMEOUT)
    other_weights = isinstance(diagnosis.problem, ConstantInitialWeights | SetsASeed)
    hidden = part.attempt.references.hidden
    if not hidden:
        for add in DETAILS:
            diagnosis = add(part, diagnosis)
    names = () if unfinished else mistakes_on(part, diagnosis)
    # If learner code raised an error, only the values on the path to it count. Its line is certain,
    # and values that diverge elsewhere would distract from it.
    error = diagnosis.error
    raised = bool(error and error.line)
    fact, fact_line = None, None
    if not unfinished and not hidden:
        fact, fact_line = in_text.plain_fact(part) or (None, None)
    if names and fact_line is None:  # the mistake's own message says more
        fact = None
    return Finding(
        asks,
        diagnosis,
        {name: part.attempt.fingerprints.messages[name] for name in names},
        trace=lambda: trace(part, diagnosis.case),
        # If only the initial weights differ, all values differ, which shows no line.
        find_divergence=lambda: None if unfinished or other_weights else divergence(part, raised),
        said=lambda: [] if unfinished else printed_lines(part, diagnosis.case),
        fact=fact,
        fact_line=fact_line,
        line=None if hidden else diagnosis.line or (part.line_of(error) if error else None),
        place=part.attempt.place,
    )
