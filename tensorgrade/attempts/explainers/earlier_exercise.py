"""Explain an exercise that is wrong only because it calls an earlier one that is wrong."""

from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Name the earlier exercise. There is no line, because this exercise itself is right."""
    return Explanation(evidence.seen()) if evidence.part.excused_by else None
