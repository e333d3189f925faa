"""Tests that need a tool: skipped and listed where it is missing, failed on request."""

import os
import re

import pytest

from .commands import ROOT, run_pytest
from .needs import NEEDS, reason

MACHINE = """
from tests.needs import NEEDS, Need
NEEDS["Chromium"] = Need(lambda: None, "install a browser")
NEEDS["PostgreSQL"] = Need(lambda: "/usr/bin", "install a database")
"""
FILE = """
import pytest
from tests import needs

@pytest.fixture
def never():
    raise RuntimeError

@pytest.fixture(scope="session")
def started():
    needs.require("Chromium")

@needs.needs("Chromium")
def test_marked(never): pass
def test_fixture(started): pass
def test_the_same_fixture(started): pass
@needs.needs("PostgreSQL")
def test_there(): pass
"""


@pytest.fixture
def outcome(tmp_path):
    """A function: run the file, return the exit status and the lines."""
    (tmp_path / "conftest.py").write_text(MACHINE)
    (tmp_path / "test_file.py").write_text(FILE)

    def outcome(*options: str, **environment: str) -> tuple[int, list[str]]:
        done = run_pytest(
            *("-p", "tests.needs", *options), cwd=tmp_path, PYTHONPATH=os.getcwd(), **environment
        )
        return done.returncode, done.stdout.splitlines()

    return outcome


@pytest.mark.slow
@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_what_is_missing_is_skipped_and_listed(outcome, processes):
    """The table comes right before the last line, which counts."""
    status, lines = outcome(*processes, REQUIRE_TOOLS="0")
    assert status == 0 and "1 passed, 3 skipped" in lines[-1]
    assert [line.split() for line in lines[-3:-1]] == [
        "needs tests what to do".split(),
        "Chromium 3 install a browser".split(),
    ]


@pytest.mark.slow
def test_nothing_is_skipped_on_request(outcome):
    status, lines = outcome(REQUIRE_TOOLS="1")
    assert status == 1 and "1 passed" in lines[-1] and "skipped" not in lines[-1]
    assert any("needs Chromium: install a browser" in line for line in lines)


def test_each_need_has_a_reason_of_its_own():
    assert len({reason(name) for name in NEEDS}) == len(NEEDS)


def test_ci_repeats_every_test_that_a_tool_could_change():
    """Other folders need no tool and start no command, which would take the isolation it finds."""
    folders = re.search(r"WITHOUT_TOOLS=\((.*)\)", (ROOT / ".ci" / "run").read_text())[1].split()
    for folder in folders:
        files = list((ROOT / "tests" / folder).glob("*.py"))
        assert files, folder
        for path in files:
            text = path.read_text()
            assert not re.search(r"^from \.+(needs|container) import", text, re.M), path
            assert not re.search(r"^from \.+commands import (?!ROOT$)", text, re.M), path
