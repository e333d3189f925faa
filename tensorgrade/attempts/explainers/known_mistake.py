"""Explain results that match known mistakes."""

from ...judging.divergence import Divergence
from ...messages.checks import ChangesInput
from ..mistake_lines import place_of_mistakes
from ..verdict import Certainty
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Name the known mistakes."""
    if not evidence.mistakes:
        return None
    found = place_of_mistakes(evidence.part) or line_that_failed(evidence)
    line, stage = evidence.place_of(found)
    return Explanation(evidence.seen(), line, stage, Certainty.NAMED)


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
