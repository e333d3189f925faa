"""Explain a wrong answer by the finding of its check and the place where values become wrong."""

import re

from ...messages.message import Message, Plain, Sentences
from ...messages.verdicts import OtherVersion, SeenThenWhere
from ..attempt import ExerciseAttempt
from ..verdict import Status
from .evidence import Evidence, Explanation


def explain(evidence: Evidence) -> Explanation | None:
    """Report the finding and, if it is known, where values first differ from right ones.

    If the finding has a fault that the text shows, wrong values are only its consequence.
    """
    finding = evidence.finding
    found = finding.find_where() if finding and not finding.fact_line else None
    said = Plain(found.said) if found and found.said else None
    other, message = other_version(evidence.part, evidence.status), evidence.seen()
    if said or other:
        message = SeenThenWhere(message, Sentences((said, other)))
    return Explanation(message, evidence.line())


def other_version(part: ExerciseAttempt, status: Status) -> Message | None:
    """Return a message if the exercise fails and the file defines, for example, `NAME_v2` too."""
    names = (name for _, _, names in part.attempt.definitions for name in names)
    is_version = re.compile(rf"{re.escape(part.name)}_?v?\d+").fullmatch
    others = [name for name in names if is_version(name) and name not in part.attempt.exercises]
    if status not in (Status.FAILED, Status.ERROR) or not others:
        return None
    return OtherVersion(others[-1], part.name)
