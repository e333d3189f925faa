"""If a learner submits a notebook and a script, one rule decides which of them counts."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from tensorgrade.nbgrader_plugin.script_to_notebook import script_counts
from tensorgrade.sources.finding import find_submissions

CHAPTER = "ch1_simplified_attention"


def hand_in(project, folder: Path, notebook: str) -> Path:
    """A finished script with this notebook beside it; returns the script."""
    place = folder / "ada" / CHAPTER
    place.mkdir(parents=True)
    (place / f"{CHAPTER}.ipynb").write_text(notebook, encoding="utf-8")
    shutil.copy(project.solution(CHAPTER), place / f"{CHAPTER}.py")
    return place / f"{CHAPTER}.py"


def notebook_with(project, *sources: str) -> str:
    """The released notebook with more cells."""
    released = project.root / "release" / CHAPTER / f"{CHAPTER}.ipynb"
    nb = nbformat.read(released, as_version=4)
    nb.cells += [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(nb)


NOTEBOOKS = {
    "untouched": (lambda project: notebook_with(project), ".py"),
    "only a helper": (lambda project: notebook_with(project, "def helper():\n    return 1"), ".py"),
    "unreadable": (lambda project: "garbage", ".py"),
    "no notebook": (lambda project: json.dumps({"cells": 7}), ".py"),
    "begun": (
        lambda project: notebook_with(project, "def softmax_naive(x):\n    return x"),
        ".ipynb",
    ),
}


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_both_routes_take_the_same_file(project, reader, tmp_path, name):
    make, counts = NOTEBOOKS[name]
    script = hand_in(project, tmp_path, make(project))
    (submitted_files,), _ = find_submissions(tmp_path, project.course)
    assert reader.name_of_source(submitted_files) == f"{CHAPTER}{counts}"
    assert script_counts(script, reader) == (counts == ".py")
