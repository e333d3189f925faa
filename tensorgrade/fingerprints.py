"""Fingerprints: what each mistake gives on the cases of its exercise, as digests.

They ship with the references. They name a mistake without holding any code of it.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from .course import CourseError
from .judging.digest import Digest


@dataclass(frozen=True)
class Fingerprint:
    """What one mistake, or two at once, gives on each case (by the case's name)."""

    mistakes: tuple[str, ...]
    digests: dict[str, Digest]


@dataclass(frozen=True)
class Fingerprints:
    """All fingerprints of a chapter, by exercise, and the mistakes' messages by name."""

    by_exercise: dict[str, list[Fingerprint]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)


def save_fingerprints(path: Path, fingerprints: Fingerprints) -> None:
    """Write fingerprints as JSON; equal digests of one exercise are written once."""
    exercises = {}
    for exercise, prints in fingerprints.by_exercise.items():
        cases = sorted({case for fingerprint in prints for case in fingerprint.digests})
        table: dict[str, int] = {}
        rows = [[list(p.mistakes), [number_of(table, p.digests[c]) for c in cases]] for p in prints]
        exercises[exercise] = {"cases": cases, "digests": list(table), "prints": rows}
    header = {"messages": fingerprints.messages, "exercises": exercises}
    path.write_text(json.dumps(header, separators=(",", ":")) + "\n", encoding="utf-8")


def number_of(table: dict[str, int], digest: Digest) -> int:
    """The digest's place in the table of those seen so far."""
    numbers = ",".join(f"{n:.6g}" for n in digest.numbers)
    return table.setdefault(f"{numbers}|{digest.words}", len(table))


def load_fingerprints(path: Path) -> Fingerprints:
    """Read what `save_fingerprints` wrote. Raises CourseError where the file is missing."""
    if not path.exists():
        raise CourseError(f"{path} is missing; `tensorgrade build` makes it")
    header = json.loads(path.read_text(encoding="utf-8"))
    by_exercise = {}
    for exercise, data in header["exercises"].items():
        digests = [read_digest(text) for text in data["digests"]]
        by_exercise[exercise] = [
            Fingerprint(tuple(names), {c: digests[i] for c, i in zip(data["cases"], row)})
            for names, row in data["prints"]
        ]
    return Fingerprints(by_exercise, header["messages"])


def read_digest(text: str) -> Digest:
    numbers, words = text.split("|", 1)
    return Digest(words, tuple(float(n) for n in numbers.split(",")))
