"""Explain a file that could not be read, or a check that is broken itself."""

from ...exchange.observation import Outcome
from ...messages.message import Plain
from ...messages.verdicts import NotChecked
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say why nothing was checked."""
    if evidence.part.attempt.loaded.status == Outcome.UNREADABLE:
        return Explanation(Plain(evidence.part.attempt.loaded.reason))
    if evidence.finding is None:
        return Explanation(NotChecked())
    return None
