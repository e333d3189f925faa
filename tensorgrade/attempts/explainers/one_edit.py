"""Explain an answer that one small edit would make right."""

from ...messages.verdicts import OneEdit, SeenThenWhere
from ..verdict import Certainty
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Point to the line of the edit, but do not show the edit itself."""
    if (edit := evidence.repair) is None:
        return None
    _, stage = evidence.place()
    line = evidence.part.attempt.source.line_in_cell(edit.line)
    where = OneEdit(evidence.part.attempt.place(edit.line), edit.idea, edit.code)
    return Explanation(SeenThenWhere(evidence.seen(), where), line, stage, Certainty.REPAIRED)
