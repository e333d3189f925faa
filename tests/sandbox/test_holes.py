"""The trial of the sandbox: what it finds, and what `doctor` and `grade` make of it."""

import os
import subprocess
from contextlib import closing
from functools import partial

import pytest

from tensorgrade.course import Limits
from tensorgrade.sandbox.holes import holes, must_hold
from tensorgrade.sandbox.processes import ForkServer

from ..support import BIN, ROOT, cli, needs, rows_of, submit, write_patch_without_isolation

slow = pytest.mark.slow


@pytest.fixture(scope="module")
def servers():
    """A fork server with the sandbox, and one without."""
    locked, free = ForkServer(Limits()), ForkServer(Limits(), locked=False)
    with closing(locked), closing(free):
        yield locked, free


@slow
@needs("the sandbox")
def test_nothing_works_in_the_sandbox_and_everything_outside(servers, tmp_path):
    """The same trial, so that no attempt fails for a reason of its own."""
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "one.py").write_text("x")
    private = {"the answers": tmp_path / "answers", "the gradebook": tmp_path / "missing"}
    assert holes(servers[0], private) == []
    found = holes(servers[1], private)
    assert len(found) == 20 and not [what for what in found if "perhaps" in what], found
    assert {"read the answers", "read the gradebook", "start programs"} <= set(found)
    assert os.listdir(tmp_path) == ["answers"]
    must_hold(servers[1], private)  # without a sandbox nothing is promised
    done = cli("doctor")
    assert done.returncode == 0 and "Nothing of it worked." in " ".join(done.stdout.split())


@slow
@needs("the sandbox")
def test_a_hole_ends_the_run_before_it_begins(tmp_path):
    """`grade` says what got through and what to do, and writes no row."""
    write_patch_without_isolation(tmp_path / "patch")
    submit(tmp_path / "submitted", "ada", "ch1_simplified_attention", "x = 1\n")
    command = [BIN / "tensorgrade", "grade", tmp_path / "submitted", "--out", tmp_path / "out"]
    patched = os.environ | {"PYTHONPATH": str(tmp_path / "patch")}
    run = partial(subprocess.run, cwd=ROOT, env=patched, capture_output=True, text=True)
    done = run(command)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2 and "learner code can read the solutions" in said, said
    assert "--isolation none" in said and not (tmp_path / "out" / "results.jsonl").exists()
    assert run([*command, "--isolation", "none"]).returncode == 0
    assert {row["isolation"] for row in rows_of(tmp_path / "out").values()} == {"none"}
