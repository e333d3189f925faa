"""Recognises which known mistakes an attempt made, from what was seen on the cases."""

from dataclasses import dataclass

from .cases import Case
from .fingerprints import Fingerprint, Fingerprints
from .judging.digest import Digest, digest
from .observation import Observation


def digests_of(seen: list[tuple[Case, Observation, Observation]]) -> dict[str, Digest]:
    """The digest of every case, by the case's name."""
    return {case.name: digest(case, expected, observed) for case, expected, observed in seen}


def recognise(
    exercise: str,
    seen: list[tuple[Case, Observation, Observation]],
    fingerprints: Fingerprints | None,
) -> tuple[str, ...]:
    """Names of the mistakes whose fingerprint matches on every case; () where none does.

    One mistake is preferred to two that look alike. A right answer gets no name, since every
    mistake differs from the solution on some case.
    """
    if fingerprints is None or any(observed.status == "unreached" for _, _, observed in seen):
        return ()
    found = digests_of(seen)
    candidates = sorted(fingerprints.by_exercise.get(exercise, []), key=lambda p: len(p.mistakes))
    if only_errors(seen):
        candidates = [print for print in candidates if len(print.mistakes) == 1]
    return next((p.mistakes for p in candidates if matches(p, found)), ())


def only_errors(seen: list[tuple[Case, Observation, Observation]]) -> bool:
    """Whether every call ended in an error: that can show one mistake, but hardly two."""
    called = [observed for case, _, observed in seen if any(step["verb"] == "call" for step in case.steps)]
    return all(observed.error for observed in called)


def matches(fingerprint: Fingerprint, found: dict[str, Digest]) -> bool:
    """Whether every case gave what the fingerprint says."""
    return fingerprint.digests.keys() == found.keys() and all(
        fingerprint.digests[case].matches(found[case]) for case in found
    )


@dataclass(frozen=True)
class Near:
    """A mistake, or two, whose fingerprint matches on some cases. differs: where it does not."""

    mistakes: tuple[str, ...]
    matched: int
    differs: tuple[str, ...]


def nearly(
    exercise: str, seen: list[tuple[Case, Observation, Observation]], fingerprints: Fingerprints, most: int = 5
) -> list[Near]:
    """The fingerprints that match on most cases, the best first; one mistake before two."""
    found = digests_of(seen)
    near = []
    for fingerprint in fingerprints.by_exercise.get(exercise, []):
        differs = [case for case in found if not agrees(fingerprint, case, found)]
        near.append(Near(fingerprint.mistakes, len(found) - len(differs), tuple(differs)))
    return sorted(near, key=lambda one: (-one.matched, len(one.mistakes)))[:most]


def agrees(fingerprint: Fingerprint, case: str, found: dict[str, Digest]) -> bool:
    """Whether a fingerprint matches on one case."""
    return case in fingerprint.digests and fingerprint.digests[case].matches(found[case])
