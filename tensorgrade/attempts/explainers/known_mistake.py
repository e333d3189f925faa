"""Explain results that match known mistakes."""

from ...messages.checks import ChangesInput
from ..where import where_mistakes_are
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Name the known mistakes."""
    if not evidence.mistakes:
        return None
    found = where_mistakes_are(evidence.part)
    line = found.line if found else line_that_failed(evidence)
    return Explanation(evidence.seen(), evidence.in_cell(line))


def line_that_failed(evidence: Evidence) -> int | None:
    """Return the line of a fault in the text, a change in place or an error in `__init__`."""
    finding = evidence.finding
    if finding is None:
        return None
    diagnosis, line = finding.diagnosis, finding.fact_line
    if isinstance(diagnosis.problem, ChangesInput):
        line = diagnosis.line
    if diagnosis.error and diagnosis.error.verb == "construct":
        line = evidence.part.line_of(diagnosis.error)
    return line
