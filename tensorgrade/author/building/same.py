"""Comparisons of stored files with the files that would be built today.

Numbers are compared closely but not bit by bit: another processor may round the last digit
differently, and that does not make a file stale.
"""

from math import isclose, isnan
from typing import Any

import torch

from ...exchange.observation import Observation
from ...exchange.references import References, case_to_json, stored_traces
from ...recognition.fingerprints import Fingerprint, Fingerprints, matches


def same_references(stored: References, built: References) -> bool:
    """Return True if the cases have the same steps, inputs and results, and the traces agree."""
    if (stored.chapter, stored.hidden) != (built.chapter, built.hidden):
        return False
    if stored.bugs != built.bugs:
        return False
    one, other = stored_traces(stored.traces), stored_traces(built.traces)
    if one.text != other.text or not same_tensors(one.rows, other.rows):
        return False
    if len(stored.entries) != len(built.entries):
        return False
    for (case, seen), (new_case, new_seen) in zip(stored.entries, built.entries, strict=True):
        if as_json(case_to_json(case)) != as_json(case_to_json(new_case)):
            return False
        if not same_tensors(case.tensors, new_case.tensors):
            return False
        if not same_observation(seen, new_seen):
            return False
    return True


def as_json(value: Any) -> Any:
    """Return the value with tuples as lists, as JSON returns them."""
    if isinstance(value, (list, tuple)):
        return [as_json(part) for part in value]
    return {k: as_json(v) for k, v in value.items()} if isinstance(value, dict) else value


def same_observation(stored: Observation, built: Observation) -> bool:
    """Return True if the results are the same.

    A dropout pattern may differ, so only the shape and dtype of `dropped` are compared.
    """
    return (
        same_values(stored.values, as_json(built.values))
        and stored.tensors.keys() == built.tensors.keys()
        and all(
            same_tensor(t, built.tensors[name], pattern=name == "dropped")
            for name, t in stored.tensors.items()
        )
    )


def same_values(stored: Any, built: Any) -> bool:
    """Return True if the plain values are the same, apart from rounding of floats."""
    if isinstance(stored, float) and isinstance(built, float):
        both_nan = isnan(stored) and isnan(built)
        return both_nan or isclose(stored, built, rel_tol=1e-5, abs_tol=1e-6)
    if isinstance(stored, list) and isinstance(built, list):
        return len(stored) == len(built) and all(map(same_values, stored, built))
    if isinstance(stored, dict) and isinstance(built, dict):
        return stored.keys() == built.keys() and all(
            same_values(value, built[key]) for key, value in stored.items()
        )
    return type(stored) is type(built) and stored == built


def same_tensors(stored: dict, built: dict) -> bool:
    return stored.keys() == built.keys() and all(
        same_tensor(t, built[k]) for k, t in stored.items()
    )


def same_tensor(stored: torch.Tensor, built: torch.Tensor, pattern: bool = False) -> bool:
    """Return True if shape and dtype are the same, and the values too apart from rounding.

    pattern: compare only shape and dtype.
    """
    if (stored.shape, stored.dtype) != (built.shape, built.dtype):
        return False
    if pattern:
        return True
    if torch.equal(stored, built):
        return True
    left, right = stored.double(), built.double()
    return torch.allclose(left, right, rtol=1e-5, atol=1e-6, equal_nan=True)


def same_fingerprints(stored: Fingerprints, built: Fingerprints) -> bool:
    """Return True if mistakes, messages and origins are the same, and the imprints match."""
    if stored.messages != built.messages or stored.prices != built.prices:
        return False
    if stored.pairs != built.pairs:
        return False
    if stored.by_exercise.keys() != built.by_exercise.keys():
        return False
    return all(
        same_prints(stored.by_exercise[name], prints) for name, prints in built.by_exercise.items()
    )


def same_prints(stored: list[Fingerprint], built: list[Fingerprint]) -> bool:
    """Return True if the mistakes are the same, with matching imprints on the same cases."""
    return [one.mistakes for one in stored] == [one.mistakes for one in built] and all(
        matches(a, b.imprints) for a, b in zip(stored, built, strict=True)
    )
