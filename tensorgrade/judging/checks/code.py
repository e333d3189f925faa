"""Code: the operations that a call uses, and the names in the text."""

from collections.abc import Collection

from ...recognition.operations import arithmetic, grows
from ..checked import CheckedExercise
from ..diagnosis import Diagnosis, Kind, Wrong
from ..result_names import result_name
from . import check


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
    if found := set(names) & set(exercise.attempt.names.get(exercise.name, ())):
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
            exercise.wrong("nan", f"{result_name(exercise, nan[0], case)} contains NaN", case=case)
        few, many = (observed.fact(r, "operations", default={}) for r in ("few", "many"))
        if grows(few, many) or not arithmetic(few):
            said = f"{problem} ({arithmetic(many)} operations instead of {arithmetic(few)})"
            exercise.wrong("fact", said, "growing_operations", case=case)
