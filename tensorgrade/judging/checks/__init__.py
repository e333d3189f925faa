"""The engine's checks: a module for each subject, a function for each check."""

# A check is marked as in a course (`@check`), which registers it. The docs site shows the
# docstrings of all public functions here, so names of helpers begin with an underscore.

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MethodType

from ...course import CourseError
from ...marker import ADDED
from ..checked import CheckedExercise

_modules = [import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__)]
ENGINE_CHECKS: dict[str, Callable] = {
    name: function for module in _modules for _, name, function in vars(module).get(ADDED, [])
}


def bind_checks(exercise: CheckedExercise, own: Mapping[str, Callable]) -> None:
    """Make all checks methods of an exercise: `exercise.agrees("values")`.

    own: the course's own checks. Raises CourseError if a name is already taken.
    """
    taken = set(dir(exercise))  # asking for a missing attribute may search for similar names
    for name, function in (ENGINE_CHECKS | dict(own)).items():
        if name in taken:
            raise CourseError(f"checks.py: {name!r} is taken; choose another name")
        setattr(exercise, name, MethodType(function, exercise))
