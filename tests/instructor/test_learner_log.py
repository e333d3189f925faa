"""`log` shows a learner's whole history, and `regrade` keeps who, when and why."""

from dataclasses import replace

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.course import CourseError, Scheme
from tensorgrade.instructor.learner_log import log_of, regrade, user
from tensorgrade.instructor.run import Run
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import Lateness

from ..commands import ROOT
from .runs import ByContent, Silent, grade_by_content, put
from .test_exporting import CH1, CH2, COURSE

MOST = COURSE.chapters[0].points


@pytest.fixture
def term(monkeypatch, tmp_path):
    """Two learners, of whom one submitted twice."""
    put(tmp_path / "in", "bao", CH1, 0.5)
    for share in (1.0, 0.5):
        put(tmp_path / "in", "ada", CH1, share)
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    return tmp_path


def again(folder, reason="you wrote to me", student="ada", **options) -> str:
    run = Run(Setup(ROOT / "graders", "none"), again=student, **options)
    return regrade(folder / "in", folder / "out", run, reason, COURSE, Silent())


def test_the_log_has_every_attempt_every_change_and_what_counts(term):
    first, second, *changes, _, standing = log_of(term / "out", "ada", COURSE)
    assert f"{CH1}: graded, {MOST} of {MOST} points found; submitted 2027-01-15" in first
    assert f"graded, {MOST / 2:g} of {MOST} points found" in second
    assert len(changes) == len(COURSE.chapters[0].exercises)
    assert all("(another file)" in line and " → " in line for line in changes)
    assert standing == f"{CH1}: {MOST / 2:g} of {MOST} points count"
    with pytest.raises(CourseError, match="holds no rows of zoe"):
        log_of(term / "out", "zoe", COURSE)


def test_the_log_ends_with_the_term_if_the_course_has_a_scheme(term):
    course = replace(COURSE, scheme=Scheme(pass_mark=40))
    *_, line = log_of(term / "out", "ada", course)
    assert line == "The term so far: 50 of 100: passed."


@pytest.mark.slow
def test_a_regrade_keeps_who_when_why_and_replies_with_old_and_new_points(term, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ines")
    monkeypatch.setattr(ByContent, "found", {"ada": 0.75})
    before = {a: one for a, one in Store(term / "out").results().items() if a[0] == "bao"}
    reply = again(term)
    assert f"Reason: you wrote to me\n\n{COURSE.chapters[0].title}: {MOST * 0.75:g}" in reply
    assert f"(before: {MOST / 2:g})" in reply and "bao" not in reply
    (line,) = [line for line in log_of(term / "out", "ada", COURSE) if "ines" in line]
    assert f"by ines: you wrote to me; {MOST / 2:g} → {MOST * 0.75:g} points" in line
    assert before.items() <= Store(term / "out").results().items(), "nobody else is touched"
    assert "(as before)" in again(term)


def test_what_cannot_be_regraded_is_a_sentence(term):
    with pytest.raises(CourseError, match="--reason must say why"):
        again(term, reason=" ")
    with pytest.raises(CourseError, match="holds no rows of zoe"):
        again(term, student="zoe")
    with pytest.raises(CourseError, match=f"holds no ada/{CH2}/ folder"):
        again(term, chapters=(CH2,))


def test_a_reply_shows_points_before_and_after_an_override(term):
    first = COURSE.chapters[0].exercises[0]
    line = f"ada,{first.name},{first.points:g},a good idea\n"
    (term / "out" / "overrides.csv").write_text(f"student,exercise,points,reason\n{line}")
    reply = again(term)
    assert f"Graded: {first.points / 2:g} of {first.points:g} points." in reply
    assert f"gave {first.points:g} points: a good idea. What counts: {first.points:g}" in reply


@pytest.mark.slow
def test_the_log_says_what_lowers_the_points_that_count(monkeypatch, tmp_path):
    rule = Lateness({CH1: "2027-01-14 08:00 UTC"}, share_a_day=0.2)
    put(tmp_path / "in", "ada", CH1, 1.0)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    *_, line = log_of(tmp_path / "out", "ada", COURSE)
    assert line.startswith(f"{CH1}: {MOST * 0.8:g} of {MOST} points count (1 day late")
    assert line.endswith(f"{MOST * 0.2:g} points less)")


@pytest.mark.slow
def test_the_log_names_the_earlier_file_that_counts(monkeypatch, tmp_path):
    for share in (1.0, 0.5):
        put(tmp_path / "in", "ada", CH1, share)
        rule = Lateness(attempts="best")
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    *lines, last = log_of(tmp_path / "out", "ada", COURSE)
    first = next(line for line in lines if f"{MOST} of {MOST} points found" in line)
    file = first.partition("file ")[2][:8]
    assert last == f"{CH1}: {MOST} of {MOST} points count, of the earlier file {file}"


def test_a_container_without_a_name_for_its_user_is_no_trouble(monkeypatch):
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", unknown)
    assert user() == "unknown"
