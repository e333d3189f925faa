"""A learner's text is read where learners' code runs, and may do what it likes there."""

from contextlib import closing

import nbformat
import pytest
import torch

from tensorgrade.author import call
from tensorgrade.course import Limits
from tensorgrade.sandbox import processes
from tensorgrade.sandbox.processes import ForkServer
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import loaded, looked, ran

pytestmark = pytest.mark.slow
ANSWER = "def softmax(x):\n    return x.softmax(-1)"


def notebook(script: bytes = b"", **parts) -> SubmittedFiles:
    """Return a notebook with the answer in its cell. parts: further fields of the cell."""
    cell = nbformat.v4.new_code_cell(ANSWER)
    cell.update(parts)
    text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    return SubmittedFiles("ada", "ch", "ch.ipynb", text.encode(), script=script)


@pytest.fixture(scope="module")
def warm():
    with closing(ForkServer(Limits(reply_bytes=1 << 15), locked=False)) as server:
        yield server


def test_what_is_beside_the_code_of_a_cell_is_no_code(warm):
    """A carriage return in its name is no line, and large outputs are left out."""
    marks = {"nbgrader": {"solution": True, "grade_id": f"x\r{ANSWER}\r#"}}
    named = notebook(source="", metadata=marks)
    assert "softmax" not in loaded(named, warm).names
    (name,) = looked(named).source.names
    assert "\r" not in name and "\n" not in name
    outputs = [nbformat.v4.new_output("stream", text="0123456789" * 5_000_000)]
    assert loaded(notebook(outputs=outputs), warm).names == ("softmax",)


@pytest.mark.parametrize(
    "how, said",
    [("time.sleep(60)", "takes too long"), ("os._exit(3)", "ends the process that looks")],
)
def test_text_that_stalls_its_reader_costs_one_file_only(monkeypatch, how, said):
    # The fork server is another process, so the reader is changed by the program that starts it.
    change = "import os, time, tensorgrade.runner.serve as s; read = s.source_in; "
    change += "s.source_in = s.source_that_counts = "
    change += f"lambda text, *a: {how} if text.startswith(b'{{') else read(text, *a)"
    *before, run = processes.START.splitlines()
    monkeypatch.setattr(processes, "START", "\n".join([*before, change, run]))
    with closing(ForkServer(Limits(load_seconds=2), locked=False)) as warm:
        assert loaded(notebook(script=ANSWER.encode()), warm).names == ("softmax",)
        with pytest.raises(Exception, match=said):
            loaded(notebook(), warm)


def test_a_text_of_very_many_statements_is_read_and_not_run(warm):
    """A whole text, and where each statement is, is more than a reply may be."""
    text = f"import os\nos._exit(3)\n{ANSWER}\n" + "0\n" * 4000
    found = looked(SubmittedFiles("ada", "ch", "ch.py", text.encode()), server=warm)
    assert found.source.text == text and len(found.spans) == 4003
    assert found.spans[2] == (["softmax"], 3, 4)


def test_of_a_tensor_larger_than_a_reply_the_shape_is_reported(warm):
    text = "import torch\ndef f(x): return torch.outer(x, x)\n"
    seen = ran(text, "f", call(x=torch.ones(100)), server=warm)
    assert not seen.tensors and seen.error is None
    assert seen.values["result"] == {"type": "huge 100×100 tensor", "json": None}
