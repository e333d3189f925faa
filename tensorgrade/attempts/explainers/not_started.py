"""Explain an exercise that is still the stub."""

from ...messages.details import StillRaises
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is not written yet, or name the exercise that it waits for."""
    if evidence.status != Status.NOT_ATTEMPTED:
        return None
    diagnosis = evidence.finding.diagnosis if evidence.finding else None
    if diagnosis and isinstance(diagnosis.problem, StillRaises) and diagnosis.line:
        line = evidence.part.attempt.source.line_in_cell(diagnosis.line)
        return Explanation(evidence.seen(), line)
    return Explanation(evidence.seen())
