"""Records for course systems: scores, late work and limits. No learner can change them."""

from dataclasses import asdict

import pytest
from traitlets.config import Config

from tensorgrade.instructor import channels
from tensorgrade.instructor.channels import (
    is_over_limit,
    prairielearn,
    results_of,
)
from tensorgrade.lateness import Lateness
from tensorgrade.nbgrader_plugin.autograding import LateWork

from .runs import CH1, MOST, chapter_rows, row

METADATA = {
    "id": 123456,
    "created_at": "2027-01-16T01:30:00.365935-08:00",
    "assignment": {"due_date": "2027-01-15T23:59:00.000000-08:00", "late_due_date": None},
    "submission_method": "upload",
    "users": [{"email": "ada@uni.edu", "id": 1234, "name": "Ada"}],
    "previous_submissions": [{"submission_time": "2027-01-14T01:00:00-08:00", "score": 30.0}],
}
TODAY = ("2027-01-16T00:10:00-08:00", "2027-01-16T01:00:00-08:00")


def check_gradescope(results: dict) -> None:
    """Check what Gradescope's specification asks of `results.json`."""
    known = "score execution_time output output_format visibility stdout_visibility tests".split()
    assert set(results) <= {*known, "extra_data", "leaderboard", "test_output_format"}
    assert results["visibility"] in ("visible", "hidden", "after_due_date", "after_published")
    assert isinstance(results["score"], (int, float)) and isinstance(results["output"], str)
    for test in results["tests"]:
        known = "name score max_score status output output_format visibility number tags".split()
        assert set(test) <= set(known) and test["status"] in ("passed", "failed")
        assert 0 <= test["score"] <= test["max_score"]
        assert test["output_format"] in ("text", "html", "simple_format", "md", "ansi")


def check_prairielearn(results: dict) -> None:
    """Check what PrairieLearn's documentation asks of `results.json`."""
    assert set(results) <= {"gradable", "score", "message", "output", "tests", "format_errors"}
    assert isinstance(results["gradable"], bool)
    if results["gradable"]:
        assert 0 <= results["score"] <= 1
        for test in results["tests"]:
            assert set(test) <= {"name", "description", "points", "max_points", "message", "output"}
            assert 0 <= test["points"] <= test["max_points"]


def earlier(*times: str, hidden: bool = True) -> dict:
    """Return Gradescope's metadata with earlier submissions at these times."""
    extra = {"extra_data": {"hidden_tests": True}} if hidden else {}
    listed = [
        {"submission_time": at, "score": 10.0 + n, "results": extra} for n, at in enumerate(times)
    ]
    return METADATA | {"previous_submissions": listed}


def test_hidden_runs_are_counted_by_day_in_the_courses_zone():
    zone = {"zone": "America/Los_Angeles"}
    rule = Lateness(hidden_runs_a_day=2, **zone)
    assert is_over_limit(earlier(*TODAY), rule)
    assert not is_over_limit(earlier(*TODAY), Lateness(**zone))
    assert not is_over_limit(earlier(TODAY[0], "2027-01-15T23:50:00-08:00"), rule), "yesterday"
    assert not is_over_limit(earlier(*TODAY, hidden=False), rule), "public checks do not count"
    assert not is_over_limit(earlier(), rule)
    results = results_of([row("learner", 0, "failed", 0.0)], earlier(*TODAY), rule, is_over=True)
    check_gradescope(results)
    assert results["score"] == 11.0 and "tomorrow" in results["output"]


def test_gradescope_gets_a_test_for_each_exercise_and_obeys_no_learner():
    rows = chapter_rows("learner")
    rows[1] = row("learner", 1, "failed", 0.0, message="<b>no</b>", mistakes=["a<script>"])
    results = results_of(rows, {}, Lateness())
    check_gradescope(results)
    assert results["score"] == MOST - rows[1]["max_points"] and len(results["tests"]) == len(rows)
    output = results["tests"][1]["output"]
    assert "&lt;b&gt;no&lt;/b&gt;" in output and "a&lt;script&gt;" in output


def test_late_work_extensions_and_the_best_attempt_count_as_elsewhere():
    def score(rule: Lateness, told: dict = METADATA, share: float = 1.0) -> float:
        results = results_of(chapter_rows("learner", status="partial", share=share), told, rule)
        check_gradescope(results)
        return results["score"]

    assert score(Lateness(share_a_day=0.2)) == pytest.approx(0.8 * MOST)
    assert score(Lateness()) == MOST
    own = Lateness({CH1: "2027-01-17 00:00 UTC"}, share_a_day=0.2)
    assert score(own) == MOST, "the course's own date"
    longer = [{"assignment": {"due_date": "2027-01-30T00:00:00+00:00"}}]
    past = Lateness({CH1: "2027-01-01 00:00 UTC"}, share_a_day=0.2)
    assert score(past) < MOST == score(past, METADATA | {"users": longer})
    same = [{"assignment": {"due_date": METADATA["assignment"]["due_date"]}}]
    assert score(past, METADATA | {"users": same}) < MOST
    assert score(Lateness(attempts="best"), share=0.5) == 30.0
    assert score(Lateness(attempts="best")) == MOST and score(Lateness(), share=0.5) == MOST / 2


def test_nbgraders_own_penalty_is_the_same():
    rule = Lateness({CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2, most=0.5, grace_seconds=600)
    config = Config({"LateWork": {"lateness": asdict(rule)}})
    for seconds in (0, 600, 601, 90_000, 10**9):
        lost = LateWork(config=config).late_submission_penalty("ada", MOST, seconds) or 0
        assert lost == pytest.approx(MOST * rule.share_lost(seconds))
    late = LateWork(penalty_method="zero", lateness={"share_a_day": 0.2})
    assert late.late_submission_penalty("ada", 5.0, 60.0) == 5.0, "a setting of nbgrader's own"


def test_before_the_date_for_feedback_no_system_shows_a_test(tmp_path, monkeypatch):
    rows = chapter_rows("learner", status="failed", share=0.25, message="The scores are scaled.")
    monkeypatch.setattr(channels, "rows_on", lambda *_: rows)
    for date, seen in (("2032-01-20 08:00 UTC", False), ("2030-01-20 08:00 UTC", True)):
        rule = Lateness(feedback_from=date)
        results = results_of(rows, {}, rule)
        shown = {test["visibility"] for test in results["tests"]}
        assert shown == {"visible" if seen else "after_published"}
        assert seen or results["output"].startswith("Your submission was received.")
        results = prairielearn(CH1, tmp_path, tmp_path, rule)
        assert len(results["tests"]) == (len(rows) if seen else 0) and results["score"] == 0.25
