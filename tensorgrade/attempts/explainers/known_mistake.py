"""Explain results that match known mistakes."""

from ...judging.divergence import Divergence
from ...messages.checks import ChangesInput
from ...messages.verdicts import SeenThenWhere
from ..mistake_lines import place_of_mistakes
from ..verdict import Certainty
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Name the known mistakes, and anything missing, such as a companion file."""
    if not evidence.mistakes:
        return None
    found = place_of_mistakes(evidence.part) or line_that_failed(evidence)
    line, stage = evidence.place_of(found)
    message = evidence.seen()
    to_do = [check.finding for check in evidence.checks if check.is_to_do]
    lacking = [one.diagnosis.problem for one in to_do if one and one.diagnosis.error is None]
    if lacking:
        message = SeenThenWhere(message, lacking[0])
    return Explanation(message, line, stage, Certainty.NAMED)


def line_that_failed(evidence: Evidence) -> Divergence | None:
    """Return the line of a fault in the text, a change in place or an error in `__init__`."""
    finding = evidence.finding
    if finding is None:
        return None
    diagnosis, line = finding.diagnosis, finding.fact_line
    if isinstance(diagnosis.problem, ChangesInput):
        line = diagnosis.line
    if diagnosis.error and diagnosis.error.verb == "construct":
        line = evidence.part.line_of(diagnosis.error)
    return Divergence(line) if line else None
