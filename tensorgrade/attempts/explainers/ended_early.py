"""Explain a run that timed out or was killed before all cases gave a result."""

from ...exchange.observation import Outcome
from ...judging.errors import ended
from ...messages.verdicts import OverTime
from ..lab import OUT_OF_TIME
from ..redaction import line_of_timeout
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say how the run ended, and on which line the time ran out."""
    part, status = evidence.part, evidence.status
    if status not in (Status.KILLED, Status.TIMEOUT):
        return None
    line = evidence.line_of_timeout() if status == Status.TIMEOUT else None
    sure = evidence.certainty(line)
    if any(seen.observed is OUT_OF_TIME for seen in part.seen):
        seconds = part.attempt.course.limits.handin_seconds
        return Explanation(OverTime(seconds), line, sure=sure)
    end = next(seen.observed for seen in part.seen if seen.observed.status == Outcome(status))
    error = line_of_timeout(part, [check.points for check in evidence.checks], end.error)
    return Explanation(ended(end.status, error, part.attempt.place), line, sure=sure)
