"""A fault of the graders on one file sets that file aside; it never ends the class."""

import pytest

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor.class_terminal import to_look_at
from tensorgrade.instructor.grader import grade_with
from tensorgrade.messages.not_graded import GradingFailed
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..commands import ROOT

CHAPTER = "ch1_simplified_attention"
HANDIN = SubmittedFiles("ada", CHAPTER, f"{CHAPTER}.py", b"x = 1\n")
COUNT = len(load_course(ROOT / "graders").chapter(CHAPTER).exercises)


@pytest.mark.slow
def test_a_fault_of_the_graders_costs_one_file(grader, monkeypatch, caplog):
    def fail(*arguments):
        raise IndexError("in a hidden test")

    monkeypatch.setattr(grader, "grade", fail)
    verdicts = grade_with(grader, HANDIN)
    assert {v.status for v in verdicts} == {"error"} and len(verdicts) == COUNT
    assert all("not your fault" in v.message and v.points == 0 for v in verdicts)
    assert "could not be judged" in caplog.text and "in a hidden test" in caplog.text


def test_a_fault_of_the_course_is_reported_at_once(grader, monkeypatch):
    def fail(*arguments):
        raise CourseError("references are missing")

    monkeypatch.setattr(grader, "grade", fail)
    with pytest.raises(CourseError):
        grade_with(grader, HANDIN)


def test_the_instructor_is_told_where_to_look_and_only_where_the_graders_failed():
    row = {
        "student": "ada",
        "chapter": "ch1",
        "exercise": "softmax",
        "message_id": GradingFailed.id,
    }
    said = " ".join(to_look_at([row, row | {"student": "bao", "message_id": "raises"}]))
    assert "failed on ada/ch1." in said and "explain STUDENT softmax" in said
    assert to_look_at([row | {"message_id": "raises"}]) == []
