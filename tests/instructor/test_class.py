"""A class of odd, empty, damaged, hostile and ordinary submissions, graded once."""

import csv
import io
import os

import pytest

from ..support import ROOT, grade
from .runs import CH1, NAMES, notes_in, points_of, run_here
from .the_class import CLASS, FILES, LINKS, SHOWN, STUB, grade_the_class, time_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]
STUDENTS = {SHOWN.get(name, name): name for name in CLASS}


@pytest.fixture(scope="module")
def class_(tmp_path_factory):
    """The class, graded."""
    made = grade_the_class(tmp_path_factory.mktemp("class"))
    assert made.graded.status == 0, made.graded.said
    return made


def test_all_get_what_their_files_deserve(class_):
    points, wrong = points_of(class_.graded), []
    for shown, name in STUDENTS.items():
        _, deserved, status, word = CLASS[name]
        row = class_.graded.rows[shown, CH1, NAMES[0]]
        if (points[shown], row["status"]) != (deserved, status) or word not in row["message"]:
            wrong.append((shown, points[shown], row["status"], row["message"]))
    assert wrong == []


def test_course_systems_deliver_the_same_points_and_times(class_):
    """Canvas' download does not say when."""
    points = points_of(class_.graded)
    for system, folders in class_.collected.items():
        assert set(folders) == set(FILES)
        for name, folder in folders.items():
            assert points[folder] == CLASS[name][1], (system, name)
            at = class_.graded.rows[folder, CH1, NAMES[0]]["submitted"]
            when = None if system == "canvas" else f"{time_of(name):%Y-%m-%d %H:%M:%S} UTC"
            assert not points[folder] or at == when, (system, name)


def test_each_learner_has_a_row_for_every_exercise_with_the_agreed_fields(class_):
    rows = class_.graded.rows
    collected = {folder for own in class_.collected.values() for folder in own.values()}
    students = {*STUDENTS, *LINKS, *collected}
    assert set(rows) == {(student, CH1, name) for student in students for name in NAMES}
    fields = "student chapter exercise points max_points status mistakes message line isolation"
    for row in rows.values():
        assert set(row) >= {*fields.split(), "submitted", "late_seconds", "penalty"}
        assert 0 <= row["points"] <= row["max_points"] and row["isolation"] == "none"
        assert row["message"] and row["message"].isprintable()


def test_links_lead_nowhere(class_):
    for student in (*LINKS, "link"):
        rows = [class_.graded.rows[student, CH1, name] for name in NAMES]
        assert all(row["points"] == 0 and "is a link" in row["message"] for row in rows)


def test_the_run_reports_what_it_left_out_and_no_name_reaches_a_terminal_raw(class_):
    said = class_.graded.said
    assert "\x1b" not in said and notes_in(said, "another_course")
    assert "could not be graded as usual" in said


def test_run_again_it_changes_nothing(class_):
    results = class_.graded.out / "results.jsonl"
    before = results.read_bytes()
    again = grade(class_.submitted, class_.graded.out, "--isolation", "none")
    assert "graded before" in again.said and results.read_bytes() == before


def test_report_log_and_exports_show_the_same_class(class_):
    out, points = class_.graded.out, points_of(class_.graded)

    def use(command: str, *options: object) -> str:
        done = run_here(command, *options, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    use("export", out)
    text = (out / "export" / "grades.csv").read_text(encoding="utf-8")
    exported = {row["student"]: float(row["points"]) for row in csv.DictReader(io.StringIO(text))}
    assert exported == points
    use("export", out, "--format", "pages")
    people = sum(map(len, class_.collected.values()))
    assert len(list((out / "export" / "pages").iterdir())) == people, "in people.csv"
    use("report", out)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert [name for name in points if f">{name}<" not in page] == []
    assert f"{points['renamed']:g} of 39 points count" in use("log", out, "renamed")
    told = ("--submitted", class_.submitted, "--isolation", "none")
    said = use("explain", "renamed", NAMES[0], *told)
    assert "it defines `attention_score`" in " ".join(said.split()) and "0 of 5" in said


def test_identical_files_are_listed_but_no_stubs(class_):
    assert STUB  # collected four times, too
    page = (class_.graded.out / "report.html").read_text(encoding="utf-8")
    _, _, listed = page.partition("<h2>Identical")
    listed = listed.partition("<h2>")[0]
    assert ">dies<" not in listed and ">stub<" not in listed and ">utf16<" in listed
