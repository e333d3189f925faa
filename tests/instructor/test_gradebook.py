"""`grade --gradebook` writes the class into nbgrader's gradebook."""

import os
import sys
from pathlib import Path

import pytest

from .runs import CH1, MOST, NAMES

pytestmark = pytest.mark.slow


def test_nbgraders_gradebook_has_the_points_and_keeps_what_a_person_graded(term, monkeypatch):
    """Batches, odd names, late work, overrides; and a second run doubles nothing."""
    from nbgrader.api import Gradebook

    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    url = f"sqlite:///{term.folder / 'gradebook.db'}"
    names = ["ada", "x'; DROP TABLE student; --", "new\nline", "=1+1"]
    for number, name in enumerate(names):
        term.put(name, 0.5, text=str(number))
    term.settings(deadlines={CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2)
    term.write("overrides.csv", "student,exercise,points,reason", f"ada,{NAMES[0]},4,why")

    def scores() -> dict[str, float]:
        said = term.grade("--gradebook", url).said
        assert "4 submissions in the gradebook" in said
        with Gradebook(url, "attention") as gradebook:
            found = gradebook.assignment_submissions(CH1)
            return {s.student.id: round(s.score - s.late_submission_penalty, 6) for s in found}

    found = scores()
    assert found == {name.replace("\n", "\\n"): 15.6 for name in names} | {
        "ada": 0.8 * (MOST - 5) / 2 + 4  # 15.6 is 0.8 of a half
    }
    with Gradebook(url, "attention") as gradebook:
        cell = f"points-{NAMES[1]}"
        gradebook.find_grade(cell, CH1, CH1, "=1+1").manual_score = 5
        gradebook.db.commit()
    assert scores()["=1+1"] > found["=1+1"]
    for wrong in ("nonsense", "postgresql://ada:secret@127.0.0.1:1/db"):
        said = term.grade("--gradebook", wrong, refused=True).said
        assert "cannot be written" in said and "secret" not in said
