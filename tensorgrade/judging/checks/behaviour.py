"""Behaviour beside values: refusals, changed arguments, and the operations that code uses."""

from collections.abc import Collection

from ...exchange.cases import Case
from ...exchange.observation import Observation, strings
from ...recognition.operations import arithmetic, grows
from ..checked import CheckedExercise
from ..diagnosis import Diagnosis, Kind, Wrong
from ..errors import why_it_raised
from ..names import result_name
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
                f"{result_name(name, case, exercise.seen)} is a {kind}, which computes nothing "
                "until it is read; return a tuple"
            )
            exercise.wrong("values", problem, case=case)


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


@check
def avoids(exercise: CheckedExercise, group: str, calls: Collection[str], problem: str) -> None:
    """Check that a watched call used none of these operations."""
    for case, _, observed in exercise.answered(group):
        if observed.uses(set(calls)):
            names = frozenset(name.removeprefix("call:") for name in calls)
            exercise.wrong("fact", problem, case=case, forbidden=names)


@check
def names_none(
    exercise: CheckedExercise, names: Collection[str], problem: str, share: float
) -> None:
    """Check that the text contains none of these names (`x.mean`, an import, `getattr`).

    If it does, at most `1 - share` of the exercise is earned. The text is parsed before it runs, so
    no code can hide the names that it uses.
    """
    if found := set(names) & set(exercise.attempt.facts.names.get(exercise.name, ())):
        raise Wrong(Diagnosis(Kind.FACT, problem, share=share, forbidden=frozenset(found)))


@check
def does_not_grow(exercise: CheckedExercise, group: str, problem: str) -> None:
    """Check that the call named `many` needs no more operations than the one named `few`: no loop.

    Both must return numbers in the right shape, because code that computes nothing has no loop
    either.
    """
    for case, expected, observed in exercise.answered(group):
        results = {
            name: exercise.result(case, name, expected, observed) for name in expected.tensors
        }
        if nan := [name for name, result in results.items() if result.isnan().any()]:
            exercise.wrong(
                "nan", f"{result_name(nan[0], case, exercise.seen)} contains NaN", case=case
            )
        few, many = (observed.fact(r, "operations", default={}) for r in ("few", "many"))
        if grows(few, many) or not arithmetic(few):
            said = f"{problem} ({arithmetic(many)} operations instead of {arithmetic(few)})"
            exercise.wrong("fact", said, "growing_operations", case=case)
