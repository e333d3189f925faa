"""The packages that the engine imports are those that its extras install."""

import re
import subprocess
import sys
import tomllib

import pytest

from ..support import ROOT
from .imports import MODULES, imported_names

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
# The extra for a folder of the engine; the other folders are for all users.
EXTRA_OF = {
    "author": "author",
    "instructor": "instructor",
    "instructor.cluster": "cluster",
    "learner.notebook": "notebooks",
    "learner.pictures": "notebooks",
    "nbgrader_plugin": "instructor",
    "notebook": "notebooks",
}


def provided(requirements: list[str]) -> set[str]:
    """Return the names that can be imported where these requirements are installed."""
    found = set()
    for requirement in requirements:
        name, extra = re.match(r"([\w-]+)(?:\[(\w+)\])?", requirement).groups()
        if name == "tensorgrade":
            found |= provided(EXTRAS[extra])
        else:
            found |= {IMPORTED_AS.get(name, name.replace("-", "_"))} | WITH.get(name, set())
    return found


def extra_of(module: str) -> str:
    parts = module.removeprefix("tensorgrade.").split(".")
    places = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((EXTRA_OF[place] for place in places if place in EXTRA_OF), "learner")


@pytest.mark.slow
def test_an_extra_installs_what_its_modules_import():
    assert set(map(extra_of, MODULES)) == EXTRAS.keys()
    for module in MODULES:
        installed = provided(PROJECT["dependencies"]) | provided(EXTRAS[extra_of(module)])
        imported = {name.partition(".")[0] for name in imported_names(module)}
        assert imported - sys.stdlib_module_names - installed <= {"tensorgrade"}, module


IMPORT_ALL = """
import importlib, sys
modules, missing = (text.split() for text in sys.argv[1:])
sys.modules |= dict.fromkeys(missing)
for module in modules:
    importlib.import_module(module)
"""


@pytest.mark.slow
def test_what_learners_run_imports_without_the_packages_of_others():
    own = provided(PROJECT["dependencies"]) | provided(EXTRAS["learner"])
    others = set().union(*(provided(EXTRAS[extra]) for extra in EXTRAS)) - own
    modules = [module for module in MODULES if extra_of(module) == "learner"]
    assert modules and others
    command = [sys.executable, "-c", IMPORT_ALL, " ".join(modules), " ".join(others)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Runs a command where a package is not installed.
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
        (["build"], "jupytext", "author"),
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
