"""A small term, played by the script that plays a large one."""

import runpy

import pytest

from ..commands import ROOT

TERM = runpy.run_path(str(ROOT / "benchmarks" / "term.py"))


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_after_a_term_with_accidents_all_places_show_the_same_points(capsys):
    assert TERM["main"](["--learners", "8", "--chapters", "2"]) == 0, capsys.readouterr().out


def test_a_cell_that_differs_is_found_and_one_that_is_rounded_is_not():
    about, other = ("ada", "ch1"), ("ben", "ch1")
    places = {
        "SQLite": {about: 1.234, other: "excused"},
        "CSV": {about: 1.235, other: "excused"},
        "pages": {about: 1.23},
    }
    assert TERM["differences"](places) == [
        ("CSV", about, 1.234, 1.235),
        ("pages", other, "excused", None),
    ]
