"""A fault of the graders on one file sets that file aside; it never ends the class."""

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.grader import grade_with
from tensorgrade.sources.handins import Handin

HANDIN = Handin("ada", "ch1_simplified_attention", "ch1_simplified_attention.py", b"x = 1\n")


def test_a_fault_of_the_graders_costs_one_file(grader, monkeypatch, caplog):
    def fail(*arguments):
        raise IndexError("in a hidden test")

    monkeypatch.setattr(grader, "grade", fail)
    verdicts = grade_with(grader, HANDIN)
    assert [v.status for v in verdicts] == ["error"] * 5
    assert all("not by your fault" in v.message and v.points == 0 for v in verdicts)
    assert "could not be judged" in caplog.text and "in a hidden test" in caplog.text


def test_a_fault_of_the_course_is_told_at_once(grader, monkeypatch):
    def fail(*arguments):
        raise CourseError("references are missing")

    monkeypatch.setattr(grader, "grade", fail)
    with pytest.raises(CourseError):
        grade_with(grader, HANDIN)
