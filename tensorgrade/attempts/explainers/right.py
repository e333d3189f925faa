"""Explain full points."""

from ...messages.message import Clauses
from ...messages.verdicts import EarlierIsWrong, Right
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is right, and name a called earlier exercise that is not."""
    if evidence.status != Status.PASSED:
        return None
    root = evidence.part.excused_by
    return Explanation(Clauses((Right(), EarlierIsWrong(root))) if root else Right())
