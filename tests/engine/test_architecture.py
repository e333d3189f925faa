"""Imports in the engine run one way, from the top layer down, and no module is unused."""

import ast

import pytest

from .imports import MODULES, imported_names, importers_of, imports

# From the bottom up. Modules of one layer do not import each other.
LAYERS = [
    {"lateness", "gc_settings"},
    {"marker", "folders", "course", "processes"},
    {"runner", "grader_files"},
    {"isolation", "exchange", "course_sources"},
    {"sources", "messages", "audit"},
    {"project", "recognition"},
    {"judging"},
    {"attempts"},
    {"views", "history", "originals", "built_code"},
    {"testing"},
    {"practice"},
    {"learner", "instructor", "author"},
    {"notebook", "command", "nbgrader_plugin", "pytest_plugin"},
    {"cli", "tensorgrade"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
COURSE_FOLDERS = {"graders", "exercises", "solutions", "course_config"}
# Started by a command, a course's own one, pytest, nbgrader or a notebook; or as a program, away
# from this process.
ENTRY_POINTS = {
    "tensorgrade",
    "tensorgrade.cli.__main__",
    "tensorgrade.audit.child",
    "tensorgrade.cli.audits",
    "tensorgrade.cli.authors",
    "tensorgrade.cli.instructors",
    "tensorgrade.cli.learners",
    "tensorgrade.command",
    "tensorgrade.notebook",
    "tensorgrade.instructor.channel_run",
    "tensorgrade.pytest_plugin",
    "tensorgrade.testing.plugin",
    "tensorgrade.nbgrader_plugin.autograding",
    "tensorgrade.nbgrader_plugin.collecting",
    "tensorgrade.nbgrader_plugin.feedback",
    "tensorgrade.nbgrader_plugin.late_work",
    "tensorgrade.nbgrader_plugin.reading",
    "tensorgrade.nbgrader_plugin.releasing",
    "tensorgrade.nbgrader_plugin.tidying",
    "tensorgrade.runner.probe",
    "tensorgrade.runner.drop_root",
    "tensorgrade.runner.warm",
}
# The folder imports all of its modules without naming them.
COLLECTED = {name for name in MODULES if name.startswith("tensorgrade.judging.checks.")}
# Modules of one function that one list names, so that adding one touches one file and the list;
# and the catalogue, which holds wording apart from the code that uses it.
LISTED = (
    "tensorgrade.attempts.details.",
    "tensorgrade.attempts.explainers.",
    "tensorgrade.audit.relations",
    "tensorgrade.messages.",
)
FOLDERS = [name for name, path in MODULES.items() if path.name == "__init__.py"]


def part_of(module: str) -> str:
    """Return the engine's folder (or the top-level file) of a module."""
    return module.removeprefix("tensorgrade.").split(".")[0]


def test_imports_go_down_only():
    arrows = [(name, other) for name, used in imports().items() for other in used]
    between = [(a, b) for a, b in arrows if part_of(a) != part_of(b)]
    assert between
    assert [(a, b) for a, b in between if RANK[part_of(a)] <= RANK[part_of(b)]] == []


def test_the_runner_imports_nothing_else():
    runner = [name for name in MODULES if part_of(name) == "runner"]
    assert runner
    for module in runner:
        assert {part_of(name) for name in imports()[module]} <= {"runner"}, module


@pytest.mark.slow
def test_the_engine_imports_nothing_of_the_course():
    for module in MODULES:
        outermost = {name.split(".")[0] for name in imported_names(module)}
        assert not outermost & COURSE_FOLDERS, module


def test_no_modules_import_each_other_in_a_ring():
    left = {module: set(used) for module, used in imports().items()}
    while free := [module for module, used in left.items() if not used & left.keys()]:
        for module in free:
            del left[module]
    assert left == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_says_what_it_is(folder):
    text = ast.get_docstring(ast.parse(MODULES[folder].read_text(encoding="utf-8")))
    assert text and text.partition("\n")[0].endswith(".")


def test_every_module_is_imported_or_an_entry_point():
    unused = {module for module in MODULES if not importers_of(module)}
    assert unused - set(FOLDERS) - ENTRY_POINTS - COLLECTED == set()
    assert ENTRY_POINTS - set(MODULES) == set()


def test_few_modules_have_only_one_importer():
    """A module that one other imports is mostly a part of it that was cut off.

    The module behind a command is not, since only the command imports it; nor is a folder.
    """
    importers = {module: importers_of(module) for module in MODULES}
    alone = {module: min(found) for module, found in importers.items() if len(found) == 1}
    lonely = [
        module
        for module, importer in alone.items()
        if not module.startswith(LISTED)
        and not importer.startswith("tensorgrade.cli.")
        and module not in FOLDERS
    ]
    assert len(lonely) <= 18, lonely
