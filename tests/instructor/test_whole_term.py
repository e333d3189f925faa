"""A small term, played by the script that plays a large one."""

import runpy

import pytest

from ..support import ROOT

TERM = runpy.run_path(str(ROOT / "benchmarks" / "term.py"))


@pytest.mark.proof
def test_after_a_term_with_accidents_all_places_show_the_same_points(capsys):
    assert TERM["main"](["--learners", "8", "--chapters", "2"]) == 0, capsys.readouterr().out
