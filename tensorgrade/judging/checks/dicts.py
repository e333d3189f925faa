"""Dicts: the keys of returned dicts, their order, and sizes as values."""

from collections.abc import Iterable

from ...exchange.values import plain
from ...marker import check
from ...messages import checks as say
from ...messages.message import Message
from ...messages.results import Result
from ..checked import CheckedExercise
from ..problems import keys_of, what_came


@check
def agrees_on_keys(exercise: CheckedExercise, group: str, *keys: str) -> None:
    """Check that returned dicts have the reference's sizes under these keys (tuples or lists)."""
    for case, expected, observed in exercise.answered(group):
        got, want = (plain(seen.value("result")) for seen in (observed, expected))
        if not isinstance(got, dict) or not isinstance(want, dict):
            came = say.CameInstead(Result(), what_came(observed, "result"), "a dict")
            exercise.wrong("values", came, case=case)
        if all(got.get(key) == want[key] and _are_integers(got[key]) for key in keys):
            continue
        said = plain(observed.values["result"]["json"])
        told = said if isinstance(said, dict) else {}
        for key in keys:
            if got.get(key) != want[key]:
                value = told.get(key, "…") if key in got else "missing"
                asked = "" if exercise.attempt.references.hidden else str(tuple(want[key]))
                problem = say.KeyIs(key, _instead_of_sizes(value), asked)
                exercise.wrong("values", problem, case=case)
            if not _are_integers(got[key]):
                there = str(told.get(key, "…"))
                exercise.wrong("values", say.NotIntegers(key, there), case=case)


@check
def keeps_order(exercise: CheckedExercise, group: str) -> None:
    """Check that returned dicts have the reference's keys in its order."""
    for case, expected, observed in exercise.answered(group):
        got, want = (plain(seen.value("result")) for seen in (observed, expected))
        if not isinstance(got, dict) or not isinstance(want, dict) or list(got) != list(want):
            told = plain(observed.values.get("result", {}).get("json"))
            keys, asked = tuple(keys_of(told)), tuple(keys_of(want))
            # On a hidden case, a right key may be part of the answer.
            secret = exercise.attempt.references.hidden and not set(asked) <= set(keys)
            exercise.wrong("fact", say.WrongKeys(keys, () if secret else asked), case=case)


def _instead_of_sizes(value: object) -> Message:
    """Return the value of a key that should hold sizes, as far as it may be shown.

    >>> _instead_of_sizes([2, 6]), _instead_of_sizes("…")
    (OtherSizes(value='(2, 6)'), NotAsItShouldBe())
    """
    if not any(map(str.isalnum, str(value))):
        return say.NotAsItShouldBe()
    if isinstance(value, str) and value != "missing":
        return say.TextForSizes(value)
    return say.OtherSizes(str(tuple(value) if isinstance(value, list) else value))


def _are_integers(sizes: Iterable[object]) -> bool:
    """Return True if all sizes are integers, and not bools or floats that equal integers."""
    return all(type(size) is int for size in sizes)
