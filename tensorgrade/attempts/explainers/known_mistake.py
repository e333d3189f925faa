"""Explain results that match known mistakes."""

from ...messages.verdicts import SeenThenWhere
from ..mistake_lines import place_of_mistakes
from ..verdict import Sure
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Name the known mistakes, and anything missing, such as a companion file."""
    if not evidence.mistakes:
        return None
    line, stage = evidence.place_of(place_of_mistakes(evidence.part))
    message = evidence.seen()
    to_do = [check.finding for check in evidence.checks if check.is_to_do]
    lacking = [one.diagnosis.problem for one in to_do if one and one.diagnosis.error is None]
    if lacking:
        message = SeenThenWhere(message, lacking[0])
    return Explanation(message, line, stage, Sure.NAMED)
