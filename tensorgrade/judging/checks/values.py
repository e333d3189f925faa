"""Values: results agree with the reference, or with one another."""

from itertools import filterfalse

from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...recognition.imprints import results_in
from ..checked import CheckedExercise
from ..result_names import is_within, not_the_same, result_name
from ..tensor_comparison import disagreement
from ..value_comparison import ValueJudge
from . import check


@check
def agrees(exercise: CheckedExercise, group: str, only: str = "", strict: bool = False) -> None:
    """Check that every result of every case in the group agrees with the reference.

    only: compare only results whose names start with this (`gradient`: only gradients). strict:
    compare types too, so that a tuple is not a list and an OrderedDict is not a dict.
    """
    for case, expected, observed in exercise.answered(group):
        for name in sorted(expected.tensors):
            if name.startswith(only) and not is_within(name):
                exercise.compare(case, name, expected.tensors[name], observed)
        for name in expected.values:
            if name.startswith(only):
                exercise.compare_value(case, name, expected, observed, strict)
        if strict:
            _has_types(exercise, case, expected, observed)
    if not only:
        gives_no_more(exercise, group)


@check
def gives_no_more(exercise: CheckedExercise, group: str) -> None:
    """Check that no extra results are returned, because unpacking them would fail.

    `agrees` checks this too.
    """
    for case, expected, observed in exercise.answered(group):
        if "result" in expected.values:
            continue  # a single value, which is compared as a whole
        most, got = (
            sum(name.startswith("result.") for name in (*seen.tensors, *seen.values))
            for seen in (expected, observed)
        )
        if got > most:
            asked = f"{most} {'is' if most == 1 else 'are'} expected"
            exercise.wrong("values", f"{got} results are returned; {asked}", case=case)


def _has_types(
    exercise: CheckedExercise, case: Case, expected: Observation, observed: Observation
) -> None:
    """Check that a case's tensors are in a list or in a tuple, as the reference has them."""
    for name, facts in expected.facts.items():
        got = observed.facts.get(name, {}).get("type")
        if f"{name}.0" in expected.tensors and got != facts.get("type"):
            what = result_name(exercise, name, case)
            problem = f"{what} is a {got}; a {facts['type']} is expected"
            exercise.wrong("values", problem, case=case)


@check
def gives_the_same(exercise: CheckedExercise, group: str) -> None:
    """Check that every other named result equals `result` in every case of the group.

    Numbers must not depend on the memory layout of inputs. They must not change if a module is
    copied or its state is loaded into another one. Other checks compare them with the reference.
    """
    for case, expected, observed in exercise.answered(group):
        exercise.check_computed(case, expected, observed)
        for name in filterfalse(is_within, expected.tensors):
            other = exercise.result(case, name, expected, observed)
            partner = ".".join(["result", *name.split(".")[1:]])
            first = exercise.result(case, partner, expected, observed)
            if gap := disagreement(other, first, exercise.attempt.tolerances):
                problem = not_the_same(exercise, name, case)
                exercise.wrong(gap.kind, problem, case=case, actual=other)
        judge = ValueJudge(observed, observed, exercise.attempt.tolerances)
        for name in expected.values:
            pair = observed.value("result"), observed.value(name)
            if judge.between(*pair, pair):
                exercise.wrong("values", not_the_same(exercise, name, case), case=case)


@check
def keeps_dtype(exercise: CheckedExercise, group: str) -> None:
    """Check that results, and all their parts, have the dtype of the reference."""
    for case, expected, observed in exercise.answered(group):
        for name in results_in(expected):
            want = expected.tensors[name].dtype
            got = exercise.result(case, name, expected, observed).dtype
            if got != want:
                what = result_name(exercise, name, case)
                exercise.wrong("fact", f"{what} is {got}; {want} is expected", case=case)
