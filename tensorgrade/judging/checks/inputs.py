"""Inputs: a call must not change its arguments."""

from ...exchange.cases import Case
from ...exchange.observation import Observation, strings
from ..checked import CheckedExercise
from ..result_names import result_name
from . import check


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
                problem = f"it changes the input `{changed[0]}` in place; the caller still needs it"
                exercise.wrong("fact", problem, "changes_input", case=case, about=changed[0])
            altered = strings(observed.fact(name, "altered", default=[]))
            if objects and altered:
                problem = (
                    f"it changes `{altered[0]}` itself, which should be the same after the call"
                )
                exercise.wrong("fact", problem, "changes_input", case=case, about=altered[0])


LAZY = ("generator", "map", "zip", "filter")


def _is_there_already(
    exercise: CheckedExercise, case: Case, expected: Observation, observed: Observation
) -> None:
    """Check that no result is lazy, such as a generator: its inputs may change before it runs."""
    for name, facts in expected.facts.items():
        kind = observed.facts.get(name, {}).get("type")
        if kind in LAZY and kind != facts.get("type"):
            problem = (
                f"{result_name(exercise, name, case)} is a {kind}, which computes nothing until it "
                "is read; return a tuple"
            )
            exercise.wrong("values", problem, case=case)
