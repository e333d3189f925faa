"""What a course adds to the engine: checks and signatures of its own, from the file `checks.py`.

The file lies in a folder of tests. Whoever makes attempts for that folder loads it and hands on
what is in it, so two courses in one process do not get each other's.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..course import CourseError
from ..marker import ADDED
from ..recognition.signatures import SIGNATURES, Signature
from .checked import CheckedExercise
from .checks import ENGINE_CHECKS

FILE = "checks.py"
PRICES = "PRICES"  # a table in it
# What the engine has of each kind: a course adds to it and replaces nothing.
TAKEN = {
    "check": {*ENGINE_CHECKS, *dir(CheckedExercise), *CheckedExercise.__annotations__},
    "signature": {*SIGNATURES},
}


@dataclass(frozen=True)
class CourseChecks:
    """A course's own checks and signatures, by name.

    prices: what share of an exercise a mistake costs, by its name, or `exercise.name`.
    """

    checks: dict[str, Callable] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)


def load_checks(tests: Path) -> CourseChecks:
    """What `checks.py` in a folder of tests adds; nothing where there is no such file.

    Raises CourseError where a name is there twice, or is one of the engine's own.
    """
    added: dict[str, dict] = {"check": {}, "signature": {}}
    path = tests / FILE
    there = runpy.run_path(str(path), run_name=path.stem) if path.exists() else {}
    for kind, name, function in there.get(ADDED, []):
        if name in added[kind]:
            raise CourseError(f"{path}: the {kind} {name!r} is there twice")
        if name in TAKEN[kind]:
            raise CourseError(f"{path}: the engine has a {kind} {name!r}; choose another name")
        added[kind][name] = function
    return CourseChecks(added["check"], added["signature"], there.get(PRICES, {}))
