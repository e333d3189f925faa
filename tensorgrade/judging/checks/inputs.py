"""Inputs: a call must not change its arguments."""

from ...exchange.observation import strings
from ...marker import check
from ...messages import checks as say
from ..checked import CheckedExercise


@check
def keeps_inputs(exercise: CheckedExercise, *groups: str, objects: bool = False) -> None:
    """Check that each call returned something and changed no argument, at any depth.

    objects: also check the called object, and objects among the arguments.
    """
    for case, expected, observed in (
        entry for group in groups for entry in exercise.answered(group)
    ):
        exercise.something_came_back(case, expected, observed)
        for name in observed.facts:
            if changed := strings(observed.fact(name, "changed", default=[])):
                exercise.wrong("fact", say.ChangesInput(changed[0]), case=case)
            altered = strings(observed.fact(name, "altered", default=[]))
            if objects and altered:
                exercise.wrong("fact", say.ChangesInput(altered[0], itself=True), case=case)
