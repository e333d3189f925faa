"""Imports in the engine run one way, from the top layer down."""

import pytest

from .imports import MODULES, imported_names, imports

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
    {"views", "history", "audit"},
    {"testing"},
    {"author"},
    {"learner", "instructor"},
    {"notebook", "command", "nbgrader_plugin", "pytest_plugin"},
    {"cli", "tensorgrade"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
COURSE_FOLDERS = {"graders", "exercises", "solutions", "course_config"}


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


@pytest.mark.slow
def test_the_engine_imports_nothing_of_the_course():
    for module in MODULES:
        outermost = {name.split(".")[0] for name in imported_names(module)}
        assert not outermost & COURSE_FOLDERS, module
