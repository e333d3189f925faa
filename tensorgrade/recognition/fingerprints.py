"""Fingerprints: what each mistake gives on the cases of its exercise, as imprints.

They ship with the references. They name a mistake without holding any code of it.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..course import CourseError
from ..exchange.cases import Case
from ..exchange.observation import Observation, Outcome
from ..exchange.references import Seen
from .imprints import Imprint, echoed
from .signatures import Signature, imprint


@dataclass(frozen=True)
class Fingerprint:
    """What one mistake, or two at once, gives on each case (by the case's name)."""

    mistakes: tuple[str, ...]
    imprints: dict[str, Imprint]


@dataclass(frozen=True)
class Fingerprints:
    """All fingerprints of a chapter, by exercise, and the mistakes' messages by name."""

    by_exercise: Mapping[str, list[Fingerprint]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)


def save_fingerprints(path: Path, fingerprints: Fingerprints) -> None:
    """Write fingerprints as JSON; equal imprints of one exercise are written once."""
    exercises = {}
    for exercise, prints in fingerprints.by_exercise.items():
        cases = sorted({case for fingerprint in prints for case in fingerprint.imprints})
        table: dict[str, int] = {}
        rows = [
            [list(p.mistakes), [number_of(table, p.imprints[c]) for c in cases]] for p in prints
        ]
        exercises[exercise] = {"cases": cases, "imprints": list(table), "prints": rows}
    header = {"messages": fingerprints.messages, "exercises": exercises}
    path.write_text(json.dumps(header, separators=(",", ":")) + "\n", encoding="utf-8")


def number_of(table: dict[str, int], one: Imprint) -> int:
    """The imprint's place in the table of those seen so far."""
    numbers = ",".join(map(shortened, one.numbers))
    return table.setdefault(f"{numbers}|{one.words}", len(table))


def shortened(number: float) -> str:
    """A number of an imprint as it is stored."""
    return f"{number:.6g}"


def as_stored(one: Imprint) -> Imprint:
    """An imprint as it is read again: what is compared before and after storing is the same."""
    first, second = (float(shortened(number)) for number in one.numbers)
    return Imprint(one.words, (first, second))


def load_fingerprints(path: Path) -> Fingerprints:
    """Read what `save_fingerprints` wrote. Raises CourseError for a missing or an older file."""
    if not path.exists():
        raise CourseError(f"{path} is missing; `tensorgrade build` makes it")
    stored = json.loads(path.read_text(encoding="utf-8"))
    try:
        return Fingerprints(ReadWhenAsked(stored["exercises"]), stored["messages"])
    except KeyError:
        raise CourseError(
            f"{path} is of an older form; `tensorgrade build` makes it anew"
        ) from None


class ReadWhenAsked(Mapping[str, list[Fingerprint]]):
    """Stored fingerprints by exercise: most runs need those of one exercise, or none.

    Raises KeyError for an older form.
    """

    def __init__(self, stored: dict[str, dict]):
        self.stored, self.read = stored, functools.cache(lambda name: read_prints(stored[name]))
        for data in stored.values():
            _ = data["cases"], data["imprints"], data["prints"]

    def __getitem__(self, name: str) -> list[Fingerprint]:
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)


def read_prints(data: dict) -> list[Fingerprint]:
    """The fingerprints of one exercise."""
    imprints = [read_imprint(text) for text in data["imprints"]]
    return [
        Fingerprint(
            tuple(names), dict(zip(data["cases"], map(imprints.__getitem__, row), strict=True))
        )
        for names, row in data["prints"]
    ]


def read_imprint(text: str) -> Imprint:
    numbers, words = text.split("|", 1)
    first, second = map(float, numbers.split(","))
    return Imprint(words, (first, second))


def imprints_of(seen: list[Seen], own: dict[str, Signature]) -> dict[str, Imprint]:
    """The imprint of every case, by the case's name. own: the course's signatures."""
    return {case.name: imprint(case, expected, observed, own) for case, expected, observed in seen}


def recognise(
    exercise: str,
    seen: list[Seen],
    fingerprints: Fingerprints | None,
    own: dict[str, Signature],
) -> tuple[str, ...]:
    """Names of the mistakes whose fingerprint matches on every case; () where none does.

    own: the course's signatures. One mistake is preferred to two that look alike. A right answer
    gets no name, since every mistake differs from the solution on some case.
    """
    if fingerprints is None or any(one.observed.status == Outcome.UNREACHED for one in seen):
        return ()
    imprints = imprints_of(seen, own)
    candidates = sorted(fingerprints.by_exercise.get(exercise, []), key=lambda p: len(p.mistakes))
    if only_errors(seen) or hands_back(seen):
        candidates = [p for p in candidates if len(p.mistakes) == 1]
    return next((p.mistakes for p in candidates if matches(p, imprints)), ())


def only_errors(seen: list[Seen]) -> bool:
    """Whether every call ended in an error: that can show one mistake, but hardly two."""
    called = [
        observed for case, _, observed in seen if any(step["verb"] == "call" for step in case.steps)
    ]
    return all(observed.error for observed in called)


def hands_back(seen: list[Seen]) -> bool:
    """Whether what came back is never more than what was passed in, where more is asked for.

    Whoever does nothing has made no mistake on the way, and certainly not two.
    """
    asked = [one for one in seen if not echoes(one.case, one.expected)]
    return bool(asked) and all(echoes(case, observed) for case, _, observed in asked)


def echoes(case: Case, observed: Observation) -> bool:
    """Whether every result (gradients aside) is one of the tensors that were passed in."""
    results = [t for name, t in observed.tensors.items() if not name.startswith("gradient.")]
    return bool(results) and all(echoed(case, result) for result in results)


def matches(fingerprint: Fingerprint, imprints: dict[str, Imprint]) -> bool:
    """Whether every case gave what the fingerprint says."""
    return fingerprint.imprints.keys() == imprints.keys() and all(
        agrees(fingerprint, case, imprints) for case in imprints
    )


@dataclass(frozen=True)
class Near:
    """A mistake, or two, whose fingerprint matches on some cases. differs: where it does not."""

    mistakes: tuple[str, ...]
    matched: int
    differs: tuple[str, ...]


def nearly(
    exercise: str,
    seen: list[Seen],
    fingerprints: Fingerprints,
    own: dict[str, Signature],
    most: int = 5,
) -> list[Near]:
    """The fingerprints that match on most cases, the best first; one mistake before two.

    own: the course's signatures.
    """
    imprints = imprints_of(seen, own)
    near = []
    for fingerprint in fingerprints.by_exercise.get(exercise, []):
        differs = [case for case in imprints if not agrees(fingerprint, case, imprints)]
        near.append(Near(fingerprint.mistakes, len(imprints) - len(differs), tuple(differs)))
    return sorted(near, key=lambda one: (-one.matched, len(one.mistakes)))[:most]


def agrees(fingerprint: Fingerprint, case: str, imprints: dict[str, Imprint]) -> bool:
    """Whether a fingerprint matches on one case."""
    return case in fingerprint.imprints and fingerprint.imprints[case].matches(imprints[case])
