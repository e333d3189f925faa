"""Grader files: `graders/<chapter>/<exercise>.py`, all that judges one exercise."""

import ast
import hashlib
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from .course import CourseError

MARKERS = ("exercise", "for_learners")


def grader_path(graders: Path, chapter: str, exercise: str) -> Path:
    """The file that judges an exercise."""
    return graders / chapter / f"{exercise}.py"


def import_from(graders: Path, module: str) -> ModuleType:
    """A module of a folder of graders, such as `ch1_x.normalise`; it may import its neighbours.

    The folder is a package under a name of its own, so that two courses in one process do not
    get each other's files, and nothing is added to the path.
    """
    package = package_of(graders)
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package, "A folder of graders.")
        sys.modules[package].__path__ = [str(graders)]
    return importlib.import_module(f"{package}.{module}")


def package_of(graders: Path) -> str:
    """The name under which a folder's modules are imported."""
    place = str(graders.resolve()).encode()
    return f"graders_{hashlib.sha256(place).hexdigest()[:12]}"


@dataclass(frozen=True)
class Marked:
    """A test as its marker says it, read without importing the file."""

    exercise: str
    points: float
    line: int


def marked_tests(path: Path) -> list[Marked]:
    """The marked tests of a file. Raises CourseError where a marker cannot be read."""
    return [
        read_marker(path, decorator)
        for node in syntax_of(path).body
        for decorator in getattr(node, "decorator_list", ())
        if marker_name(decorator)
    ]


def syntax_of(path: Path) -> ast.Module:
    """A file's syntax tree. Raises CourseError where it is missing or is no Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CourseError(f"{path} is missing") from None
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno}: {error.msg}") from None


def marker_name(decorator: ast.expr) -> str | None:
    """The name of the marker that a decorator is, None for any other decorator."""
    name = getattr(getattr(decorator, "func", None), "id", None)
    return name if name in MARKERS else None


def read_marker(path: Path, marker: ast.Call) -> Marked:
    """What a marker says. Raises CourseError where it is not said in plain words and numbers."""
    told = {key.arg: key.value for key in marker.keywords}
    points = told.get("points", marker.args[1] if len(marker.args) > 1 else None)
    if marker_name(marker) == "for_learners":
        points = ast.Constant(0)
    values = [getattr(part, "value", None) for part in (*marker.args[:1], points)]
    if len(values) != 2 or not isinstance(values[0], str) or not isinstance(values[1], int | float):
        raise CourseError(
            f'{path}:{marker.lineno}: write the marker as @exercise("name", points=2.5)'
        )
    return Marked(values[0], values[1], marker.lineno)


def points_in(path: Path, exercise: str) -> float:
    """What the tests of an exercise add up to.

    Raises CourseError where there are none, or where one of them judges another exercise.
    """
    tests = marked_tests(path)
    for test in tests:
        if test.exercise != exercise:
            raise CourseError(
                f"{path}:{test.line}: this test judges {test.exercise}; "
                f"the tests of that exercise stand in {test.exercise}.py"
            )
    points = round(sum(test.points for test in tests), 6)
    if points <= 0:
        raise CourseError(f"{path}: no test of {exercise} is worth any points")
    return points
