"""Signatures: functions that compute a case's imprint, by which mistakes are distinguished.

Each case names one. A course may add its own.
"""

from collections.abc import Callable
from dataclasses import replace

import torch

from ..course import CourseError
from ..exchange.cases import Case
from ..exchange.observation import CaughtError, Observation, Outcome
from ..exchange.references import Seen
from ..runner.steps import MISMATCH
from .dropout import of_dropout
from .imprints import ENDED, Imprint, of_dtype, of_growth, of_structure, of_values

Signature = Callable[[Case, Observation, Observation], Imprint]
LONGEST = 120
SIGNATURES: dict[str, Signature] = {
    "values": of_values,
    "dropout": of_dropout,
    "structure": of_structure,
    "growth": of_growth,
    "dtype": of_dtype,
    "error": lambda case, expected, seen: Imprint(facts=("no error",)),
    # A random start depends on the order of construction, in which correct answers may differ.
    "ignored": lambda case, expected, seen: Imprint("ignored"),
}

UNSEEN = {"ignored"}  # signatures with the same imprint for all results


def imprint(
    case: Case, expected: Observation, seen: Observation, own: dict[str, Signature]
) -> Imprint:
    """Return the imprint of an observation, by the case's own signature.

    own: the course's signatures by name. Raises CourseError if the case's signature is unknown.
    """
    if seen.status != Outcome.ANSWERED:
        return Imprint(seen.status)
    if case.signature == "error" and seen.error and refuses(seen.error, expected.error):
        return Imprint(facts=("refused",))
    if seen.error and case.signature != "ignored":
        error = seen.error
        # The text keeps its numbers, because sizes that do not fit distinguish one cause from
        # another.
        said = f"{ENDED}{error.verb}: {error.type}: {error.text[:LONGEST]}"
        return Imprint(facts=(said,)) if case.signature == "error" else Imprint(said)
    return signature_of(case, own)(case, expected, seen)


def refuses(error: CaughtError, expected: CaughtError | None) -> bool:
    """Return True if an error comes at the step at which the solution refuses the arguments."""
    return error.verb == (expected.verb if expected else "construct")


def signature_of(case: Case, own: dict[str, Signature]) -> Signature:
    """Return the signature that a case names. Raises CourseError if it does not exist."""
    known = {**own, **SIGNATURES}
    if case.signature not in known:
        names = ", ".join(sorted(known))
        raise CourseError(f"{case.id}: no signature is named {case.signature!r}; there is {names}")
    return known[case.signature]


# --- dimensions of size 1, lost or added --------------------------------------------------------


def differs_in_ones(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Return True if dimensions of size 1 are lost or added, and a shape is otherwise right.

    >>> differs_in_ones(torch.ones(4, 3), torch.ones(1, 4, 3))
    True
    """
    return actual.dim() != expected.dim() and actual.squeeze().shape == expected.squeeze().shape


def nothing_else_differs(seen: list[Seen], own: dict[str, Signature]) -> bool:
    """Return True if some results differ in dimensions of size 1, and everything else is right.

    own: the course's signatures.
    """
    whole = [Seen(case, right, with_right_ones(right, observed)) for case, right, observed in seen]
    if all(was.observed is now.observed for was, now in zip(seen, whole, strict=True)):
        return False
    return all(
        imprint(case, right, observed, own).matches(imprint(case, right, right, own))
        for case, right, observed in whole
    )


def with_right_ones(expected: Observation, observed: Observation) -> Observation:
    """Return the observation with dimensions of size 1 as expected, if they were lost or added.

    Its gradients could not be computed if the result had another shape, so they count as right.
    """
    tensors, asked = observed.tensors, expected.tensors
    off = {n: t for n, t in tensors.items() if n in asked and differs_in_ones(t, asked[n])}
    if not off:
        return observed
    whole = tensors | {name: t.reshape(asked[name].shape) for name, t in off.items()}
    if not (observed.error and observed.error.text.startswith(MISMATCH)):
        return replace(observed, tensors=whole)
    gradients = {name: t for name, t in asked.items() if name.startswith("gradient.")}
    return replace(observed, tensors=gradients | whole, error=None)
