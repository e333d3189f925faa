"""Refusals: the learner's code must refuse what the solution refuses."""

from ..checked import CheckedExercise
from ..diagnosis import Wrong
from ..errors import why_it_raised
from . import check


@check
def refuses(exercise: CheckedExercise, group: str, problem: str) -> None:
    """Check that code refuses what the solution refuses: to make an object, or to answer a call.

    Any exception is a refusal. Code that refuses everything earns nothing.
    """
    for case, expected, observed in exercise.group(group):
        exercise.check_finished(case, observed)
        error, verb = observed.error, expected.error.verb if expected.error else "construct"
        if error and (error.missing or (error.is_unwritten and not error.text)):
            raise Wrong(why_it_raised(exercise.attempt, exercise.name, case, error))
        if error is None or error.verb != verb:
            exercise.wrong("fact", problem, case=case)
    others = [
        seen for seen in exercise.seen if not (seen.case.group == group or seen.expected.error)
    ]
    found = [seen.observed.error for seen in others]
    if others and all(error and error.verb == "construct" for error in found):
        exercise.wrong("fact", "the class cannot be instantiated", case=others[0].case)
    if others and all(found):
        exercise.wrong("fact", "it refuses every call", case=others[0].case)
