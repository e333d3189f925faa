"""Faults that the text of a wrong answer shows without another run."""

from dataclasses import replace
from itertools import chain

from ...judging.diagnosis import Diagnosis
from ...messages.checks import CameInstead, NoGradient
from ...messages.details import NoEffect, ReturnsInLoop, StillRaises
from ...messages.errors import NotWritten
from ...messages.message import Message
from ..attempt import ExerciseAttempt, cached_for_file
from ..where import counted_lines


def still_raises(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Name the line that still raises NotImplementedError although there is code around it."""
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


def stops_gradients(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Name the line that stops all gradients, if there is exactly one."""
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


def shows_forbidden_call(part: ExerciseAttempt, diagnosis: Diagnosis) -> Diagnosis:
    """Name the first line of the exercise with a forbidden call, and the call."""
    if not diagnosis.forbidden:
        return diagnosis
    lines = chain(*(range(first, last + 1) for first, last in part.own_lines))
    found = part.attempt.submitted.using(diagnosis.forbidden, lines)
    return replace(diagnosis, line=found[0], call=found[1]) if found else diagnosis


@cached_for_file
def plain_fact(part: ExerciseAttempt) -> tuple[Message, int] | None:
    """Return a message about a fault that the exercise's text shows, and its line.

    Such a fault is a value that is computed but not used, or a return that ends a loop too early.
    Return None if there is no such fault or more than one.
    """
    if part.given_code:  # finding the place of the mistake is the exercise
        return None
    facts, lines, place = part.attempt.facts, counted_lines(part), part.attempt.place
    idle, early = ([at for at in found if at in lines] for found in (facts.idle, facts.early))
    if len(idle) == 1:
        return NoEffect(place(idle[0]), part.attempt.submitted.code(idle[0]).strip()), idle[0]
    return (ReturnsInLoop(place(early[0])), early[0]) if len(early) == 1 and not idle else None
