"""Explain a run that timed out or was killed before all cases gave a result."""

from ...exchange.observation import Outcome
from ...judging.errors import ended
from ...messages.verdicts import OverTime
from ..lab import OUT_OF_TIME
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say how the run ended, and on which line the time ran out."""
    part, status = evidence.part, evidence.status
    if status not in (Status.KILLED, Status.TIMEOUT):
        return None
    if any(seen.observed is OUT_OF_TIME for seen in part.seen):
        return Explanation(OverTime(part.attempt.course.limits.handin_seconds))
    end = next(seen.observed for seen in part.seen if seen.observed.status == Outcome(status))
    line = end.error.line if end.error and status == Status.TIMEOUT else None
    message = ended(end.status, end.error, part.attempt.place)
    return Explanation(message, evidence.in_cell(line))
