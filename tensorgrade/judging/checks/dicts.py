"""Dicts: the keys of returned dicts, their order, and sizes as values."""

from collections.abc import Iterable

from ...exchange.values import plain
from ..checked import CheckedExercise
from ..problems import came_instead, keys_of, what_came
from . import check


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
