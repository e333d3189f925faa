"""Valid parts of a notebook stay, whatever else it contains; nbgrader's own checks agree."""

import json
import math
import multiprocessing
import os
import subprocess
import sys
import time

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import DeduplicateIds

from tensorgrade.nbgrader_plugin import sanitize as module
from tensorgrade.nbgrader_plugin.sanitize import (
    InvalidNotebook,
    read_notebook,
    reason_in,
    sanitized,
)

from ..support import ROOT

CH1 = "ch1_simplified_attention"
RELEASED = ROOT / "release" / CH1 / f"{CH1}.ipynb"
MARKS = {"grade": True, "grade_id": "points-softmax", "locked": True, "points": 10}
MARKS |= {"schema_version": 3, "solution": False, "task": False}


def code(source: object = "x = 1", **cell: object) -> dict:
    told = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None}
    return told | {"source": source} | cell


def marked(**marks: object) -> dict:
    return code(metadata={"nbgrader": MARKS | marks})


def accepted(notebook) -> None:
    """nbformat and nbgrader find nothing wrong with it, and it can be written to a file."""
    nbformat.validate(notebook)
    json.dumps(notebook, allow_nan=False).encode()
    notebook, _ = DeduplicateIds().preprocess(notebook, {})
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader"):
            MetadataValidator().validate_cell(cell)


@pytest.mark.parametrize(
    "marks",
    [
        {"schema_version": 1},
        {"schema_version": "new"},
        {"schema_version": 99},
        {"points": "NaN"},
        {"points": math.nan},
        {"points": -1},
        {"points": 10**400},
        {"points": None},
        {"task": "yes"},
        {"checksum": 3},
        {"more": {"a": ["b"] * 1000}},
    ],
)
def test_a_cell_with_odd_marks_stays_a_graded_cell(marks):
    made = sanitized({"cells": [marked(**marks)]})
    accepted(made)
    assert made.cells[0].metadata.nbgrader.grade_id == "points-softmax"


@pytest.mark.parametrize("name", [["a"], {}, None, "", "a\rb = 1", "a b", "é", "a" * 1000, 3])
def test_a_cell_with_no_sound_name_is_a_learners_own(name):
    made = sanitized({"cells": [marked(grade_id=name)]})
    accepted(made)
    assert "nbgrader" not in made.cells[0].metadata and made.cells[0].source == "x = 1"


def test_marks_that_contradict_the_cell_are_dropped():
    cell = {"cell_type": "markdown", "source": "hm", "metadata": {"nbgrader": MARKS}}
    made = sanitized({"cells": [cell]})
    accepted(made)
    assert "nbgrader" not in made.cells[0].metadata


@pytest.mark.parametrize(
    "cell, source",
    [
        (code(["x = 1\n", "y = 2"]), "x = 1\ny = 2"),
        (code({"a": 1}), ""),
        (code(["x", 3, None]), "x"),
        (code("é \ud800"), "é ?"),
        (code(id=["no"], outputs="no", execution_count="<script>", metadata=[1]), "x = 1"),
    ],
)
def test_text_is_kept_whatever_is_around_it(cell, source):
    made = sanitized({"cells": [cell], "nbformat": 3, "nbformat_minor": "x", "metadata": None})
    accepted(made)
    assert [c.source for c in made.cells] == [source]


def test_pasted_pictures_stay_and_nothing_else_does():
    attached = {"a.png": {"image/png": "aGk=", "text/html": "<script>"}, "b": {"image/png": "<"}}
    cell = {"cell_type": "markdown", "source": "![](attachment:a.png)", "attachments": attached}
    made = sanitized({"cells": [cell]})
    accepted(made)
    assert made.cells[0].attachments == {"a.png": {"image/png": "aGk="}}


@pytest.mark.parametrize(
    "told",
    [
        3,
        None,
        [],
        {},
        {"cells": None},
        {"cells": {"a": 1}},
        {"worksheets": [{"cells": []}]},
    ],
)
def test_no_cells_are_no_notebook(told):
    with pytest.raises(InvalidNotebook):
        sanitized(told)


@pytest.mark.parametrize(
    "content",
    [b"no notebook", b"", b"\xff\xfe", b"[" * 200_000, b'{"cells": ' + b"9" * 9000 + b"}"],
)
def test_a_file_that_is_none_becomes_a_notebook_that_says_so(tmp_path, content):
    (tmp_path / "a.ipynb").write_bytes(content)
    made = read_notebook(tmp_path / "a.ipynb")
    accepted(made)
    assert reason_in(made) and made.cells[0].source == reason_in(made)
    (tmp_path / "a.ipynb").write_text(nbformat.writes(made))
    assert reason_in(read_notebook(tmp_path / "a.ipynb")) == reason_in(made)


@pytest.mark.parametrize(
    "content, why",
    [
        (b" ", "is empty."),
        (b'{\n<<<<<<< HEAD\n"cells": []}', "is damaged: line 2 is not valid JSON."),
        (b"\xff\xfe", "is damaged: it is not UTF-8 text."),
    ],
)
def test_a_damaged_notebook_is_reported_with_its_fault(tmp_path, content, why):
    (tmp_path / "a.ipynb").write_bytes(content)
    assert reason_in(read_notebook(tmp_path / "a.ipynb")) == f"a.ipynb {why}"


@pytest.mark.slow
def test_links_and_folders_are_no_notebooks(tmp_path):
    (tmp_path / "a.ipynb").symlink_to(RELEASED)
    (tmp_path / "b.ipynb").mkdir()
    (tmp_path / "ann").symlink_to(RELEASED.parent)
    paths = (tmp_path / "a.ipynb", tmp_path / "b.ipynb", tmp_path / "ann" / RELEASED.name)
    assert all(reason_in(read_notebook(path)) for path in paths)


@pytest.mark.slow
def test_too_much_is_reported_and_fifty_megabytes_of_outputs_are_not_too_much(tmp_path):
    for cells in ([code()] * 6000, [code("x" * (2 << 20))]):
        with pytest.raises(InvalidNotebook, match="more than"):
            sanitized({"cells": cells})
    output = {"output_type": "stream", "name": "stdout", "text": "x" * (50 << 20)}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [code(outputs=[output])]}))
    made = read_notebook(tmp_path / "a.ipynb")
    assert reason_in(made) is None and made.cells[0].outputs == []


IN_LITTLE_ROOM = """
import sys
from pathlib import Path
from tensorgrade.nbgrader_plugin import sanitize
sanitize.MEMORY = 200 << 20
print([sanitize.reason_in(sanitize.read_notebook(Path(name))) for name in sys.argv[1:]])
"""


@pytest.mark.slow
def test_a_file_that_takes_much_memory_to_read_costs_its_owner_alone(tmp_path):
    """Read from a fresh process, which has no room of its own left over."""
    path, other, many = tmp_path / "a.ipynb", tmp_path / "b.ipynb", ",".join(["[]"] * (5 << 20))
    path.write_text(f'{{"cells": [], "metadata": [{many}]}}')
    other.write_text(json.dumps({"cells": [code()]}))
    command = [sys.executable, "-c", IN_LITTLE_ROOM, str(path), str(other)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "['a.ipynb takes more memory to read than a notebook may.', None]\n"
    path.write_text("")
    os.truncate(path, module.MOST_BYTES + 1)
    assert "larger than 64 MiB" in (reason_in(read_notebook(path)) or "")


@pytest.mark.slow
def test_a_file_that_takes_long_to_read_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SECONDS", 0.2)
    monkeypatch.setattr(module, "told_of", lambda *_: time.sleep(60))
    assert "more time" in (reason_in(read_notebook(tmp_path / "a.ipynb")) or "")
    assert not multiprocessing.active_children()


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
FIELDS = ["cell_type", "source", "id", "metadata", "outputs", "attachments", "execution_count"]
CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw", "x"]) | JUNK},
    optional=dict.fromkeys(FIELDS[1:], JUNK)
    | {
        "metadata": st.fixed_dictionaries(
            {"nbgrader": st.fixed_dictionaries({}, optional=dict.fromkeys(MARKS, JUNK)) | JUNK}
        )
    },
)


@pytest.mark.slow
@given(JUNK | st.fixed_dictionaries({"cells": st.lists(CELLS | JUNK, max_size=4) | JUNK}))
def test_nearly_a_notebook_is_one_or_none(told):
    try:
        made = sanitized(told)
    except InvalidNotebook:
        return
    accepted(made)
