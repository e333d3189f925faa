"""Validation, which runs a notebook in a kernel and reads the graded cells."""

import shutil

import pytest

from ..commands import ROOT
from .test_nbgrader_cycle import COURSE, Scratch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.mark.parametrize("chapter", [chapter.name for chapter in COURSE.chapters])
def test_validation_passes_on_the_solution_and_fails_on_the_release(tmp_path, chapter):
    """Chapter 4 finds chapter 3 in the folder beside it."""
    scratch = Scratch(tmp_path)
    shutil.copytree(ROOT / "release", scratch.root / "release")
    for name in COURSE.chapter(chapter).beside:
        shutil.copy(ROOT / "solutions" / name, scratch.root / "source" / chapter)
    one = {"OMP_NUM_THREADS": "1"}  # training in a notebook takes ten times as long on busy cores
    said = scratch.run("validate", f"source/{chapter}/{chapter}.ipynb", **one)
    assert "Success! Your notebook passes all the tests." in said
    said = scratch.run("validate", f"release/{chapter}/{chapter}.ipynb", **one)
    exercises = COURSE.chapter(chapter).exercises
    assert f"VALIDATION FAILED ON {len(exercises)} CELL(S)" in said
