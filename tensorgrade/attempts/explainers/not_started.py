"""Explain an exercise that is still the stub."""

from ..verdict import Status, Sure
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Say that the exercise is not written yet, or name the exercise that it waits for."""
    if evidence.status != Status.NOT_ATTEMPTED:
        return None
    return Explanation(evidence.seen(), sure=Sure.OBSERVED)
