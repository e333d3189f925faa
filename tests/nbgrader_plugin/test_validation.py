"""Validation, which runs a notebook in a kernel and reads the graded cells."""

import shutil

import pytest

from ..support import ROOT
from .scratch import COURSE, Scratch

USUAL = "ch4_multi_head_attention"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "chapter",
    [
        pytest.param(chapter, marks=[] if chapter.name == USUAL else pytest.mark.proof)
        for chapter in COURSE.chapters
    ],
    ids=lambda chapter: chapter.name,
)
def test_validation_passes_on_the_solution_and_fails_on_the_release(tmp_path, chapter):
    """Chapter 4 finds chapter 3 in the folder beside it."""
    scratch = Scratch(tmp_path)
    shutil.copytree(ROOT / "release", scratch.root / "release")
    one = {"OMP_NUM_THREADS": "1"}  # training in a notebook takes ten times as long on busy cores
    said = scratch.run("validate", f"source/{chapter.name}/{chapter.name}.ipynb", **one)
    assert "Success! Your notebook passes all the tests." in said
    said = scratch.run("validate", f"release/{chapter.name}/{chapter.name}.ipynb", **one)
    assert f"VALIDATION FAILED ON {len(chapter.exercises)} CELL(S)" in said
