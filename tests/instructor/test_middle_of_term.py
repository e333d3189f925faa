"""Accidents in the middle of a term: a new exercise, a stray file, a learner with another name."""

import shutil
from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.instructor.store import Store

from ..commands import ROOT
from .runs import grade_by_content, put

COURSE = load_course(ROOT / "graders")
CH1, CH2 = (chapter.name for chapter in COURSE.chapters[:2])
NEW = COURSE.chapters[0].exercises[-1]


@pytest.fixture
def grade(monkeypatch, tmp_path):
    """Grade the class. new: whether the course has its newest exercise already."""
    loaded = running.load_course

    def grade(new: bool = True, **options):
        short = replace(COURSE.chapters[0], exercises=COURSE.chapters[0].exercises[:-1])
        course = COURSE if new else replace(COURSE, chapters=(short, *COURSE.chapters[1:]))
        with monkeypatch.context() as patch:
            patch.setattr("tests.instructor.runs.load_course", lambda folder: course)
            patch.setattr(running, "digest_of", lambda *_: f"graders {new}")
            rows, notes = grade_by_content(
                monkeypatch, tmp_path / "in", tmp_path / "out", **options
            )
        monkeypatch.setattr(running, "load_course", loaded)
        return rows, notes

    grade.submitted, grade.out = tmp_path / "in", tmp_path / "out"
    return grade


def total(rows, student) -> tuple[float, float]:
    own = [row for row in rows if row["student"] == student]
    return sum(row["points"] for row in own), sum(row["max_points"] for row in own)


@pytest.mark.parametrize("decision", ["count", "ignore"])
def test_an_exercise_that_is_added_in_the_middle_of_a_term_is_asked_about(grade, decision):
    put(grade.submitted, "ada", CH1, 0.5)
    put(grade.submitted, "bao", CH1, 0.5, text="bao")
    grade(new=False)
    with pytest.raises(CourseError, match=rf"new since the last run: {CH1}/{NEW.name}.*count"):
        grade()
    rows, notes = grade(new_exercises=decision)
    assert any(note.startswith("new since the last run, and") for note in notes)
    most = COURSE.chapters[0].points - (NEW.points if decision == "ignore" else 0)
    assert total(rows, "ada") == (most / 2, most)
    assert len(rows) == 2 * len(COURSE.chapters[0].exercises)
    put(grade.submitted, "bao", CH1, 1.0, text="with the new one")
    rows, notes = grade()
    assert total(rows, "bao") == (COURSE.chapters[0].points,) * 2, "a new file has every exercise"
    (*_, run) = Store(grade.out).history()
    assert {move["why"] for move in run["moved"]} == {"another file"}
    assert total(rows, "ada") == (most / 2, most), "and the decision stays"


@pytest.mark.slow
def test_a_chapter_that_hardly_anybody_submitted_is_warned_about_and_can_be_left_out(grade):
    for number in range(12):
        put(grade.submitted, f"s{number:02}", CH1, 1.0, text=str(number))
    put(grade.submitted, "s03", CH2, 1.0)
    rows, notes = grade()
    (note,) = [note for note in notes if "--chapter" in note]
    assert note.startswith(f"only s03 submitted {CH2}, so 11 other learners get 0 points")
    assert [row["student"] for row in rows if row["chapter"] == CH2 and row["points"]]
    out = grade.out.parent / "other"
    grade.out.rename(out)
    rows, notes = grade(chapters=(CH1,))
    assert {row["chapter"] for row in rows} == {CH1}
    assert not [note for note in notes if CH2 in note]
    (path,), _ = export(out, COURSE, "csv", "plain", Roster(), CH2)
    assert CH1 not in path.read_text()


OVERRIDE = "student,exercise,points,reason\nada@old,softmax,9,right but for a name\n"


@pytest.mark.slow
def test_overrides_follow_a_learner_to_another_name(grade):
    put(grade.submitted, "ada@old", CH1, 0.5)
    (grade.submitted / "ada@old" / ".collected_as").write_text("moodle 12345")
    grade.out.mkdir()
    (grade.out / "overrides.csv").write_text(OVERRIDE)
    grade()
    (grade.submitted / "ada@old").rename(grade.submitted / "ada@new")
    rows, notes = grade()
    points = {r["student"]: r["points"] for r in rows if r["exercise"] == "softmax"}
    assert points == {"ada@old": 9.0, "ada@new": 9.0}
    assert any(note.startswith("ada@old is ada@new now: overrides and ext") for note in notes)
    rows, _ = grade(forget=("ada@old",))
    assert {row["student"] for row in rows} == {"ada@new"}


def test_a_forgotten_learner_has_no_exported_page(grade):
    for name in ("ada", "dora@uni.edu"):
        put(grade.submitted, name, CH1, 0.5)
    grade()
    export(grade.out, COURSE, "html", "plain", Roster())
    shutil.rmtree(grade.submitted / "dora@uni.edu")
    grade(forget=("dora@uni.edu",))
    assert [path.name for path in (grade.out / "export" / "pages").iterdir()] == ["ada.html"]


@pytest.mark.slow
def test_overrides_that_are_older_than_the_file_are_reported(grade):
    put(grade.submitted, "ada@old", CH1, 0.5)
    grade.out.mkdir()
    (grade.out / "overrides.csv").write_text(OVERRIDE)
    assert not [note for note in grade()[1] if "old overrides" in note]
    put(grade.submitted, "ada@old", CH1, 1.0, text="again")
    for _ in range(2):
        _, notes = grade()
        assert any(
            note.startswith(f"old overrides still count: ada@old/{CH1}/softmax (older than the f")
            for note in notes
        )
    put(grade.submitted, "bao", CH2, 1.0)
    assert not [note for note in grade(chapters=(CH2,))[1] if "old overrides" in note]
    (grade.out / "overrides.csv").write_text(OVERRIDE.replace("right", "still right"))
    assert not [note for note in grade()[1] if "old overrides" in note]
