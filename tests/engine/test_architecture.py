"""Imports run one way, from the top layer down, and an extra installs what its modules import."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from ..support import ROOT

# From the bottom up. Modules of one layer do not import each other.
LAYERS = [
    {"lateness", "gc_settings"},
    {"folders", "course", "processes"},
    {"runner"},
    {"sandbox", "exchange"},
    {"sources", "cells"},
    {"project", "built", "recognition"},
    {"judging"},
    {"attempts"},
    {"views", "audit"},
    {"history"},
    {"testing"},
    {"author"},
    {"learner", "instructor"},
    {"notebook", "command", "nbgrader_plugin", "pytest_plugin"},
    {"cli", "tensorgrade"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
IMPORTED_AS = {"markdown-it-py": "markdown_it", "pyyaml": "yaml"}
# Packages that come with another one.
WITH = {
    "jinja2": {"markupsafe"},
    "jupyter": {"IPython"},
    "nbgrader": {"sqlalchemy", "traitlets"},
    "pytest": {"_pytest"},
}
# The extra for a part of the engine; the other parts are for all users.
EXTRA_OF = {
    "author": "author",
    "instructor": "instructor",
    "instructor.cluster": "cluster",
    "learner.notebook": "notebooks",
    "learner.pictures": "notebooks",
    "nbgrader_plugin": "instructor",
    "notebook": "notebooks",
}


def dotted(path: Path) -> str:
    """Return the name that a file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in sorted((ROOT / "tensorgrade").rglob("*.py"))}


def imported_names(module: str) -> Iterator[str]:
    """Yield the full name of everything that a module imports, inside functions too."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")[: package.count(".") + 2 - node.level]
            origin = ".".join([*(around if node.level else ()), *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


@cache
def imports() -> dict[str, set[str]]:
    """Return the engine's modules that each of its modules imports."""
    found = {}
    for module in MODULES:
        places = ((name, name.rpartition(".")[0]) for name in imported_names(module))
        found[module] = {next(filter(MODULES.__contains__, place), module) for place in places}
        found[module].discard(module)
    return found


def part_of(module: str) -> str:
    """Return the engine's folder (or the top-level file) of a module."""
    return module.removeprefix("tensorgrade.").split(".")[0]


def test_imports_go_down_only():
    """The runner, which is beside learners' code, imports nothing else of the engine."""
    arrows = [(name, other) for name, used in imports().items() for other in used]
    between = [(a, b) for a, b in arrows if part_of(a) != part_of(b)]
    assert between
    assert [(a, b) for a, b in between if RANK[part_of(a)] <= RANK[part_of(b)]] == []
    assert [(a, b) for a, b in between if part_of(a) == "runner"] == []


def test_no_modules_import_each_other_in_a_ring():
    left = {module: set(used) for module, used in imports().items()}
    while free := [module for module, used in left.items() if not used & left.keys()]:
        for module in free:
            del left[module]
    assert left == {}


def provided(requirements: list[str]) -> set[str]:
    """Return the names that can be imported if these requirements are installed."""
    found = set()
    for requirement in requirements:
        name, extra = re.match(r"([\w-]+)(?:\[(\w+)\])?", requirement).groups()
        if name == "tensorgrade":
            found |= provided(EXTRAS[extra])
        else:
            found |= {IMPORTED_AS.get(name, name.replace("-", "_"))} | WITH.get(name, set())
    return found


def extra_of(module: str) -> str:
    """Return the extra that a module belongs to."""
    parts = module.removeprefix("tensorgrade.").split(".")
    places = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((EXTRA_OF[place] for place in places if place in EXTRA_OF), "learner")


@pytest.mark.slow
def test_an_extra_installs_what_its_modules_import():
    """So they import nothing of the course."""
    assert set(map(extra_of, MODULES)) == EXTRAS.keys()
    for module in MODULES:
        installed = provided(PROJECT["dependencies"]) | provided(EXTRAS[extra_of(module)])
        imported = {name.partition(".")[0] for name in imported_names(module)}
        assert imported - sys.stdlib_module_names - installed <= {"tensorgrade"}, module


# Runs a command in an environment that lacks a package.
WITHOUT = """
import sys
from tensorgrade.cli import main
sys.modules[sys.argv.pop(1)] = None
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command, package, extra",
    [
        (["build"], "nbformat", "author"),
        (["bundle", "--out", "kit.zip"], "markdown_it", "instructor"),
        (["read"], "jinja2", "learner"),
    ],
)
def test_a_command_says_which_extra_it_needs(command, package, extra):
    course = ROOT / "courses" / "tokens"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, package, *command],
        cwd=course,
        capture_output=True,
        text=True,
    )
    said = f"`tensorgrade {command[0]}` needs {package}: pip install 'tensorgrade[{extra}]'"
    assert done.returncode == 2 and said in done.stderr, done.stdout + done.stderr
    assert not (course / "kit.zip").exists()
