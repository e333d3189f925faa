"""A course's additions to the engine: its own checks and signatures, from the file `checks.py`.

The file is in a folder of tests. It is loaded and passed on by the code that makes attempts for
that folder, so two courses in one process do not share their checks.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..course import CourseError
from ..recognition.signatures import SIGNATURES, Signature
from .checked import CheckedExercise
from .checks import ADDED, ENGINE_CHECKS

FILE = "checks.py"
# The engine's names of each kind. A course may add to them, but may not replace any.
TAKEN = {
    "check": {*ENGINE_CHECKS, *dir(CheckedExercise), *CheckedExercise.__annotations__},
    "signature": {*SIGNATURES},
}


@dataclass(frozen=True)
class CourseChecks:
    """What a folder of graders adds to the engine: own checks and signatures, by name.

    folder: of these graders.
    """

    checks: dict[str, Callable] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    folder: Path = Path()


def load_checks(tests: Path) -> CourseChecks:
    """Return the additions of `checks.py` in a folder of tests; empty if there is no such file.

    Raises CourseError if a name occurs twice or is one of the engine's own.
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
    return CourseChecks(added["check"], added["signature"], tests)
