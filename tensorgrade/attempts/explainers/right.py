"""Explain full points."""

from ...messages.message import Clauses
from ...messages.verdicts import EarlierIsWrong, Right
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say that it is right, and which earlier exercise is not, if one is called."""
    if evidence.status != Status.PASSED:
        return None
    root = evidence.part.excused_by
    return Explanation(Clauses((Right(), EarlierIsWrong(root) if root else None)))
