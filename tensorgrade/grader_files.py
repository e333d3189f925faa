"""Read grader files: `graders/<chapter>/<exercise>.py`, with the cases and tests of one exercise.

A file with `BUG = find_the_bug("other", …)` uses the cases and tests of that other exercise.
"""

import ast
import hashlib
import importlib
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from .course import CourseError

BUG, POINTS = "BUG", "points"
AS_BUG = 'BUG = find_the_bug("other", points=4, mistake="…", edit=("…", "…"))'
MARKERS = ("exercise", "for_learners")


def grader_path(graders: Path, chapter: str, exercise: str) -> Path:
    """Return the path of the file that judges an exercise."""
    return graders / chapter / f"{exercise}.py"


def import_from(graders: Path, module: str) -> ModuleType:
    """Import a module of a grader folder, such as `ch1_x.normalise`; it may import its neighbours.

    The folder becomes a package with a unique name. So two courses in one process do not get each
    other's files, and nothing is added to the path.
    """
    package = package_of(graders)
    if package not in sys.modules:
        sys.modules[package] = ModuleType(package, "A folder of graders.")
        sys.modules[package].__path__ = [str(graders)]
    imported = importlib.import_module(f"{package}.{module}")
    if hasattr(imported, BUG) and not hasattr(imported, "cases"):
        take_over(Path(str(imported.__file__)), imported)
    return imported


def take_over(path: Path, module: ModuleType) -> None:
    """Give a find-the-bug module the cases and tests of the exercise that judges it."""
    code = compile(tests_text(path), str(path.with_name(f"{bug_in(path)[0]}.py")), "exec")
    exec(code, vars(module))
    vars(module)["MISTAKES"] = ""


def bug_in(path: Path) -> tuple[str, float]:
    """Return the exercise that a find-the-bug file refers to, and its points; else ("", 0).

    The file is not imported. Raises CourseError if the values are not literals.
    """
    if path.exists() and BUG not in text_in(path):
        return "", 0  # like most files: this test is faster than parsing
    for node in syntax_of(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == BUG:
            first = next(iter(getattr(node.value, "args", ())), None)
            named = {key.arg: key.value for key in getattr(node.value, "keywords", ())}
            of, points = (getattr(one, "value", None) for one in (first, named.get(POINTS)))
            if isinstance(of, str) and isinstance(points, int | float):
                return of, points
            raise CourseError(f"{path}:{node.lineno}: write {AS_BUG}")
    return "", 0


def tests_text(path: Path) -> str:
    """Return the text with the tests of a file: its own, or those of another exercise, renamed.

    Raises CourseError if the other file is missing.
    """
    of = bug_in(path)[0]
    other = path.with_name(f"{of}.py") if of else path
    if not other.exists():
        raise CourseError(f"{path}: there is no {other.name} whose tests could judge it")
    text = text_in(other)
    if not of:
        return text
    tests = re.sub(rf"^def test_(?:{of}_)?", f"def test_{path.stem}_", text, flags=re.MULTILINE)
    return re.sub(rf'(?<=attempt\.){of}\b|(?<="){of}(?=")', path.stem, tests)


def package_of(graders: Path) -> str:
    """Return the package name for a folder's modules."""
    place = str(graders.resolve()).encode()
    return f"graders_{hashlib.sha256(place).hexdigest()[:12]}"


@dataclass(frozen=True)
class Marked:
    """A test as described by its marker, read without importing the file."""

    exercise: str
    points: float
    line: int


@lru_cache(maxsize=256)  # long-running commands call it repeatedly
def marked_in(text: str, path: Path) -> tuple[Marked, ...]:
    """Return the marked tests of a text, cached by the text."""
    return tuple(
        read_marker(path, decorator)
        for node in parsed(text, path).body
        for decorator in getattr(node, "decorator_list", ())
        if marker_name(decorator)
    )


def syntax_of(path: Path) -> ast.Module:
    """Return a file's syntax tree. Raises CourseError if it is missing or not valid Python."""
    try:
        return parsed(text_in(path), path)
    except FileNotFoundError:
        raise CourseError(f"{path} is missing") from None


def parameters_in(path: Path) -> dict[str, dict[str, list[str]]]:
    """Return the parameters of a file's definitions, by definition and by callable.

    For a class, the callables are the class and its public methods: `Layer`, `Layer.forward`.
    """
    return {
        node.name: parameters_of(node)
        for node in syntax_of(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def parameters_of(definition: ast.FunctionDef | ast.ClassDef) -> dict[str, list[str]]:
    """Return the parameters of one definition, by callable."""
    if isinstance(definition, ast.FunctionDef):
        return {definition.name: names_of(definition.args)}
    methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
    called = {
        definition.name if name == "__init__" else f"{definition.name}.{name}": names_of(node.args)
        for name, node in methods.items()
        if name == "__init__" or not name.startswith("_")
    }
    return {name: names[1:] for name, names in called.items()}  # without `self`


def names_of(arguments: ast.arguments) -> list[str]:
    """Return the names of parameters, in their order."""
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def text_in(path: Path) -> str:
    """Return the text of a file of the course. Raises CourseError if it is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise CourseError(f"{path}:{line}: this is not UTF-8; save the file in UTF-8") from None


def parsed(text: str, path: Path) -> ast.Module:
    """Return a text's syntax tree. Raises CourseError with the file's name if that fails."""
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise CourseError(f"{path}:{error.lineno}: {error.msg}") from None


def marker_name(decorator: ast.expr) -> str | None:
    """Return the name of a decorator that is a marker; None for any other decorator."""
    name = getattr(getattr(decorator, "func", None), "id", None)
    return name if name in MARKERS else None


def read_marker(path: Path, marker: ast.Call) -> Marked:
    """Read a marker. Raises CourseError if its values are not literals."""
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
    """Return the sum of the points of an exercise's tests.

    Raises CourseError if there are none, or if one of them judges another exercise.
    """
    tests = marked_in(tests_text(path), path)
    for test in tests:
        if test.exercise != exercise:
            raise CourseError(
                f"{path}:{test.line}: this test judges {test.exercise}; "
                f"the tests of that exercise belong in {test.exercise}.py"
            )
    points = round(sum(test.points for test in tests), 6)
    if points <= 0:
        raise CourseError(f"{path}: no test of {exercise} is worth any points")
    return points
