"""Name the line that stops all gradients, if there is exactly one."""

from dataclasses import replace
from itertools import chain

from ...judging.diagnosis import Diagnosis
from ...messages.checks import CameInstead, NoGradient
from ..attempt import ExerciseAttempt


def add(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Return the diagnosis with that line added, if it was found."""
    problem = diagnosis.problem
    if not isinstance(problem, CameInstead) or not isinstance(problem.came, NoGradient):
        return diagnosis
    lines = chain(*(range(first, last + 1) for first, last in part.own_lines))
    cuts = part.attempt.submitted.cuts(lines)
    if len(cuts) != 1:
        return diagnosis
    ((line, word),) = cuts
    came = NoGradient(part.attempt.place(line), word)
    return replace(diagnosis, problem=replace(problem, came=came), line=line)
