"""Moodle's worksheet goes back with every cell that a person filled in, in the file's own form."""

import csv
import io
from types import SimpleNamespace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.exporting import export, not_graded
from tensorgrade.instructor.results_folder import Lock
from tensorgrade.instructor.roster import read_roster

from .runs import grade_by_content, put
from .test_report import CHAPTER, COURSE

CH1 = CHAPTER.name
HEADER = (
    "Identifier,Full name,Email address,Status,Grade,Maximum grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments"
)
LOGINS = {"ada": 1.0, "bao": 0.5, "chi": 0.25}


def worksheet(path, grades, comments=None, changeable="Yes", separator=",", bom="\ufeff"):
    comments = comments or {}
    lines = [HEADER] + [
        f"Participant {number},{name},{name}@x.org,  Submitted ,{grades.get(name, '')},100.00,"
        f"{changeable},-,-,{comments.get(name, '')}"
        for number, name in enumerate(LOGINS, 1)
    ]
    path.write_text("\n".join(lines).replace(",", separator), encoding="utf-8")
    path.write_bytes(bom.encode() + path.read_bytes())
    return read_roster(path)


@pytest.fixture
def term(monkeypatch, tmp_path):
    """A graded class, and a function that exports it into a worksheet; returns rows by learner."""
    for name, share in LOGINS.items():
        put(tmp_path / "in", f"{name}@x.org", CH1, share)

    def exported(roster, **options):
        (path,), exported.notes = export(
            tmp_path / "out", COURSE, "csv", "moodle", roster, **options
        )
        exported.text = path.read_text(encoding="utf-8")
        text = io.StringIO(exported.text.removeprefix("\ufeff"))
        lines = csv.DictReader(text, delimiter=roster.separator)
        return {row["Full name"]: row for row in lines}

    exported.path = tmp_path / "worksheet.csv"
    exported.grade = lambda: grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    exported.submitted = tmp_path / "in"
    exported.grade()
    return exported


def test_a_grade_that_a_person_typed_stays_and_is_listed(term):
    typed = {"ada": "55.00", "bao": "-"}
    rows = term(worksheet(term.path, typed, {"chi": "See me"}))
    assert (rows["ada"]["Grade"], rows["bao"]["Grade"]) == ("55.00", "50.0")
    assert rows["chi"]["Feedback comments"] == "See me" and rows["chi"]["Grade"] == "25.0"
    (note,) = [note for note in term.notes if "--overwrite" in note]
    assert "ada@x.org: grade 55.00 (ours: 100.0)" in note and "See me" in note
    rows = term(worksheet(term.path, typed), overwrite=True)
    assert rows["ada"]["Grade"] == "100.0"


@pytest.mark.slow
def test_cells_that_we_filled_are_updated(term):
    """Moodle gives them back rounded, with a comma in German, and with tags in comments."""
    first = term(worksheet(term.path, {}))
    given = {name: f"{float(row['Grade']):.2f}" for name, row in first.items()}
    told = first["ada"]["Feedback comments"].replace("\n", "<br />")
    put(term.submitted, "bao@x.org", CH1, 1.0, text="again")
    put(term.submitted, "ada@x.org", CH1, 0.5, text="again")
    term.grade()
    rows = term(worksheet(term.path, given, {"ada": f'"<p>{told}</p>"'}))
    assert (rows["bao"]["Grade"], rows["ada"]["Grade"]) == ("100.0", "50.0")
    assert rows["ada"]["Feedback comments"] != first["ada"]["Feedback comments"]
    assert not [note for note in term.notes if "--overwrite" in note]


def test_a_grade_that_moodle_does_not_let_change_stays_whatever_is_asked(term):
    locked = worksheet(term.path, {"ada": "55.00"}, changeable="No")
    rows = term(locked, overwrite=True)
    assert rows["ada"]["Grade"] == "55.00" and "55.00" in " ".join(term.notes)


@pytest.mark.parametrize("separator, bom", [(",", "\ufeff"), (";", ""), ("\t", "\ufeff")])
def test_separator_mark_and_other_cells_stay_as_they_were(term, separator, bom):
    term(worksheet(term.path, {}, separator=separator, bom=bom))
    assert term.text.startswith(f"{bom}Identifier{separator}Full name")
    assert f"{separator}  Submitted {separator}" in term.text


def test_an_export_during_a_run_says_that_it_is_still_grading(tmp_path):
    store = SimpleNamespace(out=tmp_path, pending=lambda: [("ada", CH1)])
    lock = Lock(tmp_path / "in-use")
    (note,) = not_graded(store, None, partial=True, learners=())
    assert note.startswith("a run is still grading, with 1 submission left, so the export")
    with pytest.raises(CourseError, match=f"left: ada/{CH1}; wait until it ends, or .*--partial"):
        not_graded(store, None, partial=False, learners=())
    lock.file.close()
    (note,) = not_graded(store, None, partial=True, learners=())
    assert note.startswith("the last run was interrupted before it graded 1 submission, so")


@pytest.mark.slow
def test_an_export_after_an_interrupted_run_names_what_is_not_graded(term, monkeypatch):
    from tensorgrade.instructor import run as running

    for name in ("bao", "dan"):
        put(term.submitted, f"{name}@x.org", CH1, 1.0, text="again")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(running, "graded", interrupt)
        with pytest.raises(KeyboardInterrupt):
            term.grade()
    roster = worksheet(term.path, {})
    with pytest.raises(CourseError, match=rf"2 submissions: bao@x.org/{CH1}, dan.*--partial"):
        term(roster)
    rows = term(roster, partial=True)
    assert rows["bao"]["Grade"] == "50.0", "the grade that it had"
    assert any("no new points for bao@x.org" in note for note in term.notes)
    term.grade()
    assert term(roster)["bao"]["Grade"] == "100.0"
