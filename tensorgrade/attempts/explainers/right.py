"""Explain full points."""

from ...messages.message import Clauses
from ...messages.verdicts import Right
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is right, and name a called earlier exercise that is not."""
    if evidence.status != Status.PASSED:
        return None
    earlier = evidence.part.noted if evidence.part.excused_by else None
    return Explanation(Clauses((Right(), earlier)) if earlier else Right())
