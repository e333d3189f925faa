"""The engine's checks: a module for each subject, a function for each check.

Decorators register them, and those in the file `checks.py` of a course's graders. The code that
makes attempts for a folder loads its file, so two courses in one process do not share their checks.
"""

# The docs site shows the docstrings of all public functions here, so names of helpers begin with an
# underscore.

import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

from ...course import CourseError
from ...recognition.signatures import SIGNATURES, Signature
from ..checked import CheckedExercise

FILE = "checks.py"
ADDED = "__added_to_tensorgrade__"  # the list of a module's marked functions, in order
Function = TypeVar("Function", bound=Callable)


def check(function: Function) -> Function:
    """Mark a function of `checks.py` as a check, which grader files call like a built-in one.

    It receives the exercise's attempt and the arguments of the call. It raises Wrong, or passes.

        @check
        def is_positive(exercise, group):
            for case, expected, observed in exercise.answered(group):
                result = exercise.result(case, "result", expected, observed)
                if (result < 0).any():
                    exercise.wrong("values", "it has negative entries", case=case)
    """
    function.__globals__.setdefault(ADDED, []).append(("check", function.__name__, function))
    return function


def signature(name: str) -> Callable[[Callable], Callable]:
    """Mark a function of `checks.py` as a signature: cases with `signature=name` use it.

    It receives a case, the expected observation and the actual one, and returns an Imprint.
    Mistakes with different imprints can be distinguished.

        @signature("signs")
        def signs(case, expected, seen):
            return Imprint(str(bool((seen.tensors["result"] < 0).any())))
    """

    def mark(function: Callable) -> Callable:
        function.__globals__.setdefault(ADDED, []).append(("signature", name, function))
        return function

    return mark


_modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
ENGINE_CHECKS: dict[str, Callable] = {
    name: function for module in _modules for _, name, function in vars(module).get(ADDED, [])
}


# --- a course's own checks and signatures ----------------------------------------------------

# The engine's names of each kind. A course may add to them, but may not replace any.
TAKEN = {
    "check": {*ENGINE_CHECKS, *dir(CheckedExercise), *CheckedExercise.__annotations__},
    "signature": {*SIGNATURES},
}


@dataclass(frozen=True)
class CourseChecks:
    """What a folder of graders adds to the engine: own checks and signatures, by name."""

    checks: dict[str, Callable] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)


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
    return CourseChecks(added["check"], added["signature"])
