"""Rows that are lost or changed in OUT are noticed, said, and graded again."""

import json
import shutil
import sqlite3
from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import Lateness

from .runs import grade_by_content, put
from .test_report import CHAPTER, COURSE

CH1 = CHAPTER.name
NAMES = ("ada", "bao", "chi")


@pytest.fixture
def term(monkeypatch, tmp_path):
    """A class of three that was graded once, and a function that grades it again."""
    for name in NAMES:
        put(tmp_path / "in", name, CH1, 0.5, text=name)

    def grade(**options):
        rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", **options)
        return rows, notes

    grade.out = tmp_path / "out"
    grade.rows, _ = grade()
    return grade


def change(out, statement: str) -> None:
    with sqlite3.connect(out / "results.sqlite") as connection:
        assert connection.execute(statement).rowcount


LOST = {
    "truncated": lambda out: (out / "results.jsonl").write_bytes(b'{"student": "ada'),
    "a learner's lines removed": lambda out: (out / "results.jsonl").write_text(
        "".join(
            line
            for line in (out / "results.jsonl").read_text().splitlines(keepends=True)
            if "ada" not in line
        )
    ),
    "deleted": lambda out: (out / "results.jsonl").unlink(),
    "points changed": lambda out: (out / "results.jsonl").write_text(
        (out / "results.jsonl").read_text().replace('"points": 2.5', '"points": 5.0')
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("lost", LOST)
def test_a_changed_results_file_is_said_written_again_and_changes_no_export(term, lost):
    def exported() -> tuple[str, list[str]]:
        (path,), notes = export(term.out, COURSE, "csv", "plain", Roster())
        return path.read_text(), notes

    before, notes = exported()
    assert notes == []
    whole = (term.out / "results.jsonl").read_bytes()
    LOST[lost](term.out)
    after, notes = exported()
    assert after == before and "results.jsonl is not as the last run left it" in notes[0]
    rows, notes = term()
    assert rows == term.rows and (term.out / "results.jsonl").read_bytes() == whole
    assert any("results.jsonl is not as the last run left it" in note for note in notes)


@pytest.mark.slow
def test_a_lost_attempt_is_graded_again(term):
    change(term.out, "DELETE FROM attempts WHERE student = 'ada'")
    rows, notes = term()
    assert rows == term.rows
    assert f"rows are missing or were changed, so these are graded again: ada/{CH1}" in notes
    assert len(Store(term.out).attempts()["ada", CH1]) == 1


@pytest.mark.slow
def test_a_changed_attempt_is_graded_again_and_said(term):
    change(term.out, "UPDATE attempts SET rows = replace(rows, '2.5', '5') WHERE student = 'ada'")
    rows, notes = term()
    assert rows == term.rows
    assert f"rows are missing or were changed, so these are graded again: ada/{CH1}" in notes


@pytest.mark.parametrize(
    "done", ["UPDATE results SET rows = replace(rows, '2.5', '5')", "DELETE FROM results"]
)
def test_a_changed_or_deleted_result_is_said_and_put_right(term, done):
    change(term.out, f"{done} WHERE student = 'ada'")
    with pytest.raises(CourseError, match=f"rows of ada/{CH1} are missing or have been changed"):
        export(term.out, COURSE, "csv", "plain", Roster())
    rows, notes = term()
    assert rows == term.rows
    assert any(note.startswith(f"results of ada/{CH1} were changed or deleted") for note in notes)
    assert export(term.out, COURSE, "csv", "plain", Roster())


def test_a_lost_database_keeps_the_rows_and_grades_what_is_there(term):
    (term.out / "results.sqlite").unlink()
    shutil.rmtree(term.out.parent / "in" / "chi")
    rows, notes = term()
    assert rows == term.rows
    assert any(
        note.startswith("results.sqlite has no record of these learners") and "graded again" in note
        for note in notes
    )


def test_a_truncated_database_is_one_sentence(term):
    path = term.out / "results.sqlite"
    path.write_bytes(path.read_bytes()[:5000])
    for attempt in (term, lambda: export(term.out, COURSE, "csv", "plain", Roster())):
        with pytest.raises(CourseError, match=r"results.sqlite is damaged .*Restore it"):
            attempt()


@pytest.mark.slow
def test_results_of_an_earlier_version_are_taken_over(monkeypatch, tmp_path, term):
    """Complete ones are not graded again; one with a lost row is, and that is said."""
    kept = Store(term.out)
    stamps = {a: f"{own[-1].content}-{own[-1].graders}" for a, own in kept.attempts().items()}
    lines = [{"student": a[0], "chapter": a[1], "stamp": s} for a, s in stamps.items()]
    (term.out / "graded.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = {**kept.history()[0], "moved": []}
    (term.out / "history.jsonl").write_text(json.dumps(record) + "\n")
    (term.out / "results.sqlite").unlink()
    (term.out / "results.jsonl").write_text(
        "".join((term.out / "results.jsonl").read_text().splitlines(keepends=True)[1:])
    )
    rows, notes = term()
    assert rows == term.rows
    assert f"rows are missing or were changed, so these are graded again: ada/{CH1}" in notes
    assert any(note.startswith("results of an earlier version were copied") for note in notes)
    assert not (term.out / "graded.jsonl").exists()
    assert len(Store(term.out).attempts()["bao", CH1]) == 1, "not graded again"
    assert Store(term.out).history()[0] == record


def test_all_rows_are_in_the_view_for_people(term):
    with sqlite3.connect(term.out / "results.sqlite") as connection:
        found = connection.execute("SELECT student, exercise, points FROM grades").fetchall()
    assert set(found) == {(row["student"], row["exercise"], row["points"]) for row in term.rows}


def test_an_export_without_the_database_says_so(term):
    (term.out / "results.sqlite").unlink()
    _, notes = export(term.out, COURSE, "csv", "plain", Roster())
    assert any(
        "results.sqlite" in note and "run `tensorgrade grade` again" in note for note in notes
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["overrides.csv", "extensions.csv"])
def test_an_export_says_that_a_changed_file_is_not_applied_yet(term, name):
    def notes() -> list[str]:
        return export(term.out, COURSE, "csv", "plain", Roster())[1]

    header = {"overrides.csv": "exercise,points", "extensions.csv": "chapter,due,hours"}[name]
    assert notes() == []
    (term.out / name).write_text(f"student,{header},reason\n")
    (note,) = notes()
    assert note.startswith(f"changed after the last run: {name}. The points are still the earlier")
    term()
    assert notes() == []


def test_an_export_says_that_changed_penalties_are_not_applied_yet(term):
    late = replace(COURSE, lateness=Lateness({CH1: "2026-01-01 00:00 UTC"}, share_a_day=0.5))
    (note,) = export(term.out, late, "csv", "plain", Roster())[1]
    assert note.startswith("changed after the last run: the deadlines, penalties")
