"""Import and parse the Python files of a course.

A grader file, `graders/<chapter>/<exercise>.py`, has the cases, checks and mistakes of an exercise.
"""

import ast
import hashlib
import importlib
import sys
from pathlib import Path
from types import ModuleType

from .course import CourseError


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
    return importlib.import_module(f"{package}.{module}")


def package_of(graders: Path) -> str:
    """Return the package name for a folder's modules."""
    place = str(graders.resolve()).encode()
    return f"graders_{hashlib.sha256(place).hexdigest()[:12]}"


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
