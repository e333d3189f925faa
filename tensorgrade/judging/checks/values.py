"""Values: results agree with the reference, or with one another; returned dicts and their keys."""

from collections.abc import Iterable
from itertools import filterfalse

from ...exchange.cases import Case
from ...exchange.observation import Observation
from ...exchange.values import plain
from ...recognition.imprints import results_in
from ..checked import CheckedExercise
from ..comparison import ValueJudge, disagreement
from ..names import is_within, not_the_same, result_name
from ..problems import came_instead, keys_of, what_came
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
            what = result_name(name, case, exercise.seen)
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
                problem = not_the_same(name, case, exercise.seen)
                exercise.wrong(gap.kind, problem, case=case, actual=other)
        judge = ValueJudge(observed, observed, exercise.attempt.tolerances)
        for name in expected.values:
            pair = observed.value("result"), observed.value(name)
            if judge.between(*pair, pair):
                exercise.wrong("values", not_the_same(name, case, exercise.seen), case=case)


@check
def keeps_dtype(exercise: CheckedExercise, group: str) -> None:
    """Check that results, and all their parts, have the dtype of the reference."""
    for case, expected, observed in exercise.answered(group):
        for name in results_in(expected):
            want = expected.tensors[name].dtype
            got = exercise.result(case, name, expected, observed).dtype
            if got != want:
                what = result_name(name, case, exercise.seen)
                exercise.wrong("fact", f"{what} is {got}; {want} is expected", case=case)


@check
def agrees_on_keys(exercise: CheckedExercise, group: str, *keys: str) -> None:
    """Check that returned dicts have the reference's sizes under these keys (tuples or lists)."""
    for case, expected, observed in exercise.answered(group):
        got, want = (plain(seen.value("result")) for seen in (observed, expected))
        if not isinstance(got, dict) or not isinstance(want, dict):
            came = came_instead("the result", what_came(observed, "result"), "a dict")
            exercise.wrong("values", came, case=case)
        if all(got.get(key) == want[key] and _are_integers(got[key]) for key in keys):
            continue
        said = plain(observed.values["result"]["json"])
        told = said if isinstance(said, dict) else {}
        for key in keys:
            if got.get(key) != want[key]:
                value = told.get(key, "…") if key in got else "missing"
                asked = f"{tuple(want[key])} is expected for this call"
                problem = f"`{key}` is {_instead_of_sizes(value)}; {asked}"
                exercise.wrong("values", problem, case=case)
            if not _are_integers(got[key]):
                there = str(told.get(key, "…"))
                exercise.wrong(
                    "values", f"`{key}` is {there}; sizes have to be integers", case=case
                )


@check
def keeps_order(exercise: CheckedExercise, group: str) -> None:
    """Check that returned dicts have the reference's keys in its order."""
    for case, expected, observed in exercise.answered(group):
        got, want = (plain(seen.value("result")) for seen in (observed, expected))
        if not isinstance(got, dict) or not isinstance(want, dict) or list(got) != list(want):
            told = plain(observed.values.get("result", {}).get("json"))
            keys = ", ".join(map(str, keys_of(told)))
            there = f"the keys are {keys}" if keys else "the dict is empty"
            asked = f"{', '.join(map(str, keys_of(want)))} are expected"
            exercise.wrong("fact", f"{there}; {asked}", case=case)


def _instead_of_sizes(value: object) -> str:
    """Return the value of a key that should hold sizes.

    >>> _instead_of_sizes([2, 6]), _instead_of_sizes("…")
    ('(2, 6)', 'something other than sizes')
    """
    if not any(map(str.isalnum, str(value))):
        return "something other than sizes"
    if isinstance(value, str) and value != "missing":
        return f"the text {value!r} instead of sizes"
    return str(tuple(value) if isinstance(value, list) else value)


def _are_integers(sizes: Iterable[object]) -> bool:
    """Return True if all sizes are integers, and not bools or floats that equal integers."""
    return all(type(size) is int for size in sizes)
