"""Inputs: a call must not change its arguments."""

from ...exchange.cases import Case
from ...exchange.observation import Observation, strings
from ...marker import check
from ...messages import checks as say
from ..checked import CheckedExercise
from ..result_names import result_name


@check
def keeps_inputs(exercise: CheckedExercise, *groups: str, objects: bool = False) -> None:
    """Check that each call returned something and changed no argument, at any depth.

    objects: also check the called object, and objects among the arguments.
    """
    for case, expected, observed in (
        entry for group in groups for entry in exercise.answered(group)
    ):
        exercise.check_computed(case, expected, observed)
        _is_there_already(exercise, case, expected, observed)
        for name in observed.facts:
            if changed := strings(observed.fact(name, "changed", default=[])):
                exercise.wrong("fact", say.ChangesInput(changed[0]), case=case)
            altered = strings(observed.fact(name, "altered", default=[]))
            if objects and altered:
                exercise.wrong("fact", say.ChangesInput(altered[0], itself=True), case=case)


LAZY = ("generator", "map", "zip", "filter")


def _is_there_already(
    exercise: CheckedExercise, case: Case, expected: Observation, observed: Observation
) -> None:
    """Check that no result is lazy, such as a generator: its inputs may change before it runs."""
    for name, facts in expected.facts.items():
        kind = observed.facts.get(name, {}).get("type")
        if kind in LAZY and kind != facts.get("type"):
            problem = say.ComputedLater(result_name(exercise, name, case), str(kind))
            exercise.wrong("values", problem, case=case)
