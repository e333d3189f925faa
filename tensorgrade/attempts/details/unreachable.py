"""Name the line that still raises NotImplementedError although there is code around it."""

from dataclasses import replace

from ...judging.diagnosis import Diagnosis
from ...messages.details import StillRaises
from ...messages.errors import NotWritten
from ..attempt import ExerciseAttempt


def add(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with that line."""
    line = diagnosis.error.line if diagnosis.error else None
    if not isinstance(diagnosis.problem, NotWritten) or not line:
        return diagnosis
    text, place = part.attempt.submitted, part.attempt.place(line)
    if text.goes_on_below(line):
        return replace(diagnosis, problem=StillRaises(place, below=True), line=line)
    if text.comes_behind_code(line):
        raises = StillRaises(place, below=False, making=text.is_making(line))
        return replace(diagnosis, problem=raises, line=line)
    return diagnosis
