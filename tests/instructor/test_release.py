"""Before `feedback_from` learners see that a submission was received and loads, and no more."""

import json
from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.channel_run import results_of
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.lateness import Lateness

from .runs import put_rows
from .test_report import CHAPTER, COURSE, hand_in, row

LATER = Lateness(zone="Europe/Berlin", feedback_from="2032-01-20 08:00")
BEFORE = replace(LATER, feedback_from="2030-01-20 08:00 UTC")
SECRET = "The scores are scaled."


@pytest.fixture
def out(tmp_path):
    broken = "Your file could not be loaded: line 3."
    rows = hand_in("ada", status="failed", share=0.25, message=SECRET)
    rows += hand_in("bao", status="error", share=0.0, message=broken)
    rows.append(
        row(
            "chi",
            0,
            "not_attempted",
            0.0,
            message="There is no submission for this chapter.",
            message_id="nothing_submitted",
        )
    )
    put_rows(tmp_path, rows)
    return tmp_path


def pages(out, rule) -> dict[str, str]:
    paths, _ = export(out, replace(COURSE, lateness=rule), "html", "plain", Roster())
    return {path.stem: " ".join(path.read_text("utf-8").split()) for path in paths}


def test_pages_say_that_a_file_was_received_and_loads_until_the_date(out):
    hidden, shown = pages(out, LATER), pages(out, BEFORE)
    assert SECRET in shown["ada"] and SECRET not in hidden["ada"]
    assert "points</b>" not in hidden["ada"] and "wrong" not in hidden["ada"]
    follow = "will be available from 2032-01-20 08:00 Europe/Berlin."
    assert "was received. Your file can be loaded." in hidden["ada"] and follow in hidden["ada"]
    assert "could not be loaded" in hidden["bao"] and "line 3" in hidden["bao"]
    assert "Nothing was submitted." in hidden["chi"]


@pytest.mark.parametrize("to, form", [("csv", "moodle"), ("csv", "canvas")])
def test_what_shows_points_to_learners_is_refused_until_the_date(out, to, form):
    course = replace(COURSE, lateness=LATER)
    with pytest.raises(CourseError, match="before 2032-01-20 08:00 Europe/Berlin"):
        export(out, course, to, form, Roster(), CHAPTER.name)
    assert export(out, course, "csv", "plain", Roster()), "instructors have the points"


def test_gradescope_hides_every_test_until_the_date():
    rows = hand_in("learner", status="failed", share=0.25, message=SECRET)
    results = results_of(rows, {}, LATER)
    assert {test["visibility"] for test in results["tests"]} == {"after_published"}
    assert results["output"].startswith("Your submission was received. Your file can be loaded.")
    assert {test["visibility"] for test in results_of(rows, {}, BEFORE)["tests"]} == {"visible"}


def test_a_date_that_is_none_is_refused():
    assert "feedback_from" in Lateness(feedback_from="soon").complaints([])[0]
    assert "names no time zone" in Lateness(feedback_from="2032-01-20 08:00").complaints([])[0]


def test_prairielearn_shows_no_tests_until_the_date(tmp_path, monkeypatch):
    from tensorgrade.instructor import channel_run

    rows = hand_in("learner", status="failed", share=0.25, message=SECRET)
    monkeypatch.setattr(channel_run, "rows_on", lambda *_: rows)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graders").mkdir()
    for rule, shown in ((LATER, 0), (BEFORE, len(CHAPTER.exercises))):
        (tmp_path / "graders" / "lateness.json").write_text(json.dumps(vars(rule)))
        channel_run.prairielearn(CHAPTER.name, tmp_path)
        results = json.loads((tmp_path / "results" / "results.json").read_text())
        assert len(results["tests"]) == shown and results["score"] == 0.25
        assert ("was received" in results.get("message", "")) is (shown == 0)
