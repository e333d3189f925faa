"""A learner's text is read where learners' code runs, and may do what it likes there."""

import json
from contextlib import closing
from dataclasses import replace

import nbformat
import pytest

from tensorgrade.attempts.lab import Lab
from tensorgrade.course import Limits
from tensorgrade.runner.source import Unreadable
from tensorgrade.sandbox import processes
from tensorgrade.sandbox.processes import ForkServer
from tensorgrade.sources.program import Program
from tensorgrade.sources.submitted_files import SubmittedFiles

LIMITS = Limits()
SHORT = replace(LIMITS, load_seconds=2)
ANSWER = "def softmax(x):\n    return x.softmax(-1)"


@pytest.fixture(scope="module")
def warm():
    with closing(ForkServer(LIMITS, locked=False)) as server:
        yield server


def notebook(*sources: str) -> bytes:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode()


def submitted_files(content: bytes, script: bytes = b"") -> SubmittedFiles:
    return SubmittedFiles("ada", "ch", "ch.ipynb", content, script=script)


def loaded(warm, given: SubmittedFiles, limits: Limits = LIMITS):
    lab, program = Lab(warm, limits), Program("ch", given, exercises={"softmax": ""})
    try:
        source = lab.look(program).source
        return lab.load(replace(program, source=source)), source
    finally:
        lab.close()


@pytest.mark.slow
def test_a_carriage_return_in_a_cells_name_is_no_line(warm):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("")])
    nb.cells[0].metadata["nbgrader"] = {"solution": True, "grade_id": f"x\r{ANSWER}\r#"}
    found, source = loaded(warm, submitted_files(json.dumps(nb).encode()))
    assert "softmax" not in found.names
    assert "\r" not in source.names[0] and "\n" not in source.names[0]


@pytest.mark.slow
def test_large_outputs_are_no_code(warm):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ANSWER)])
    nb.cells[0].outputs = [nbformat.v4.new_output("stream", text="0123456789" * 5_000_000)]
    found, _ = loaded(warm, submitted_files(json.dumps(nb).encode()))
    assert found.names == ("softmax",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how, said",
    [("time.sleep(60)", "takes too long"), ("os._exit(3)", "ends the process that looks")],
)
def test_text_that_stalls_its_reader_costs_one_file_only(monkeypatch, how, said):
    # The fork server is another process, so the reader is changed by the program that starts it.
    change = f"import os, time, tensorgrade.runner.reading as r; r.extract = lambda *a: {how}"
    *before, run = processes.START.splitlines()
    monkeypatch.setattr(processes, "START", "\n".join([*before, change, run]))
    with closing(ForkServer(SHORT, locked=False)) as warm:
        both, source = loaded(warm, submitted_files(notebook(ANSWER), ANSWER.encode()), SHORT)
        assert both.names == ("softmax",) and source.filename == "ch.py"
        with pytest.raises(Unreadable, match=said):
            loaded(warm, submitted_files(notebook(ANSWER)), SHORT)


@pytest.mark.slow
def test_a_text_of_very_many_statements_is_read_and_not_run(warm):
    """A whole text, and where each statement is, is more than a reply may be."""
    text = f"import os\nos._exit(3)\n{ANSWER}\n" + "0\n" * 4000
    files = SubmittedFiles("ada", "ch", "ch.py", text.encode())
    looked = Lab(warm, replace(LIMITS, reply_bytes=1 << 15)).look(Program("ch", files))
    assert looked.source.text == text and len(looked.spans) == 4003
    assert looked.spans[2] == (["softmax"], 3, 4)
