"""Which of several definitions of an exercise in a notebook counts, and that this is said."""

import json

import pytest

from tensorgrade.runner.loading import load_module
from tensorgrade.runner.reading import source_in

STUB = "def double(x):\n    raise NotImplementedError"
DONE = "def double(x):\n    return 2 * x"
SCRATCH = "def double(x):\n    return 0"
MARKS = {"nbgrader": {"solution": True, "grade_id": "double"}}


def cell(source: str, own: bool = True, kind: str = "code") -> dict:
    """Return a cell of a notebook. own: whether it is marked as the exercise's."""
    return {"cell_type": kind, "source": source, "metadata": MARKS if own else {}}


def elsewhere(source: str, kind: str = "code") -> dict:
    """Return a cell that is marked as no exercise's."""
    return cell(source, own=False, kind=kind)


def doubled(*cells: dict):
    """Return the result of `double(3)` in a notebook, and the message on the choice."""
    content = json.dumps({"cells": [elsewhere("import math"), *cells]}).encode()
    found = source_in(content, "a.ipynb")
    module, problems = load_module("cells", found.text, "a.ipynb")
    assert not problems
    return module.double(3), dict(found.notes).get("double", "")


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ([cell(DONE), cell(STUB)], "code cell 2, not from code cell 3"),
        ([cell(SCRATCH), cell(DONE)], "code cell 3, not from code cell 2"),
        ([cell(DONE), elsewhere("double = 3")], ""),
        ([cell(DONE), elsewhere(SCRATCH)], "code cell 2, not from code cell 3"),
        ([elsewhere(SCRATCH), cell(DONE)], "code cell 3, not from code cell 2"),
        ([cell(STUB), elsewhere(DONE)], "code cell 3, not from code cell 2"),
        ([elsewhere(DONE), cell(STUB)], "code cell 2, not from code cell 3"),
        ([cell(DONE), cell(SCRATCH, kind="markdown")], ""),
        ([cell(DONE), elsewhere(SCRATCH, kind="markdown")], ""),
        ([elsewhere(SCRATCH), elsewhere(DONE)], ""),
        ([elsewhere(DONE), elsewhere(STUB)], ""),
        ([cell(DONE), elsewhere("def double(x:\n    return 0")], "cell 2, not from code cell 3"),
    ],
)
def test_the_definition_that_is_meant_counts(cells, place):
    result, said = doubled(*cells)
    assert result == 6
    assert place in said and bool(said) == bool(place)


def test_an_untouched_stub_is_still_to_do():
    with pytest.raises(NotImplementedError):
        doubled(cell(STUB), elsewhere("double = 3"))


def test_other_lines_of_a_cell_stay():
    result, _ = doubled(cell(DONE), elsewhere("factor = 1; double = 3\nother = factor"))
    assert result == 6


def test_a_broken_definition_of_its_own_cell_is_reported():
    content = json.dumps({"cells": [cell("def double(x:\n    return x"), elsewhere(SCRATCH)]})
    found = source_in(content.encode(), "a.ipynb")
    _, problems = load_module("cells", found.text, "a.ipynb")
    assert [problem["names"] for problem in problems] == [["double"]]
