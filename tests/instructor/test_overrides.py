"""Overrides by an instructor appear next to the graders' verdicts, everywhere, in every run."""

import csv
import io

import pytest
from rich.console import Console

from tensorgrade.course import CourseError
from tensorgrade.instructor.class_terminal import ClassProgress
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.extensions import read_extensions
from tensorgrade.instructor.gradebook import write_gradebook
from tensorgrade.instructor.learner_log import log_of
from tensorgrade.instructor.overrides import read_overrides
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.store import Store
from tensorgrade.instructor.teams import Teams, read_teams
from tensorgrade.lateness import Lateness

from . import downloads
from .runs import Silent, grade_by_content, put
from .test_report import CHAPTER, COURSE

CH1, MOST = CHAPTER.name, CHAPTER.points
FIRST, SECOND = CHAPTER.exercises[:2]
HEADER = "student,exercise,points,reason\n"
DECIDED = f"{HEADER}ada,{FIRST.name},4.5,right but for a name\nbao,{FIRST.name},excused,ill\n"
RULE = Lateness({CH1: "2027-01-01 12:00 UTC"}, share_a_day=0.5)


@pytest.fixture
def term(monkeypatch, tmp_path):
    """A class of three, and a way to grade it again; `out` has room for overrides."""

    class Term:
        submitted, out = tmp_path / "in", tmp_path / "out"

        def grade(self, decided: str | None = None, lateness=None) -> dict:
            if decided is not None:
                (self.out / "overrides.csv").write_text(decided, encoding="utf-8")
            rows, self.notes = grade_by_content(monkeypatch, self.submitted, self.out, lateness)
            self.rows = {(row["student"], row["exercise"]): row for row in rows}
            return self.rows

    made = Term()
    made.out.mkdir()
    for name in ("ada", "bao", "chi"):
        put(made.submitted, name, CH1, 0.5, text=name)
    return made


def history(out) -> list[dict]:
    return Store(out).history()


@pytest.mark.slow
def test_a_decision_stays_through_regrades_and_is_taken_back_with_its_line(term):
    found = dict(term.grade())
    term.grade(DECIDED)
    given = term.rows["ada", FIRST.name]
    assert (given["points"], given["max_points"]) == (4.5, FIRST.points)
    assert given["override"] == {
        "found": FIRST.points / 2,
        "of": FIRST.points,
        "reason": "right but for a name",
    }
    excused = term.rows["bao", FIRST.name]
    assert (excused["points"], excused["max_points"]) == (0.0, 0.0)
    assert [r for k, r in term.rows.items() if r != found[k]] == [given, excused]
    assert {(m["student"], m["why"]) for m in history(term.out)[-1]["moved"]} == {
        ("ada", "an override"),
        ("bao", "an override"),
    }
    runs, decided = len(history(term.out)), term.rows
    assert term.grade() == decided and len(history(term.out)) == runs, "again, and nothing moves"
    put(term.submitted, "ada", CH1, 1.0, text="another file")
    assert term.grade()["ada", FIRST.name]["points"] == 4.5
    assert term.rows["ada", FIRST.name]["override"]["found"] == FIRST.points
    assert term.rows["ada", SECOND.name]["points"] == SECOND.points
    (term.out / "overrides.csv").unlink()
    assert term.grade()["bao", FIRST.name] == found["bao", FIRST.name]
    assert term.rows["ada", FIRST.name]["points"] == FIRST.points


@pytest.mark.slow
def test_late_work_loses_nothing_of_what_an_instructor_gave(term):
    term.grade(DECIDED, RULE)
    given, rest = term.rows["ada", FIRST.name], term.rows["ada", SECOND.name]
    assert (given["points"], given["penalty"]) == (4.5, 0.0)
    assert rest["penalty"] > 0
    term.grade(HEADER, RULE)
    assert term.rows["ada", FIRST.name]["penalty"] == rest["penalty"] / SECOND.points * FIRST.points


@pytest.mark.slow
def test_every_view_says_who_decided(term, tmp_path):
    term.grade(DECIDED)
    page = write_report(term.out, COURSE).read_text(encoding="utf-8")
    assert "Decided by an instructor" in page and "2.5 of 5 → excused" in page
    assert "Your instructor gave 4.5 points: right but for a name." in page
    hidden = write_report(term.out, COURSE, hide_names=True).read_text(encoding="utf-8")
    assert "2.5 of 5 → excused" in hidden and "ill<" not in hidden and "for a name" not in hidden
    export(term.out, COURSE, "html", "plain", Roster())
    own = (term.out / "export" / "pages" / "bao.html").read_text(encoding="utf-8")
    assert (
        "Your instructor excused this: ill." in own and f"of {MOST - FIRST.points:g} points" in own
    )
    export(term.out, COURSE, "csv", "plain", Roster())
    lines = csv.DictReader(io.StringIO((term.out / "export" / "grades.csv").read_text()))
    half = MOST / 2
    assert {r["student"]: (float(r["points"]), float(r["max_points"])) for r in lines} == {
        "ada": (half - FIRST.points / 2 + 4.5, MOST),
        "bao": (half - FIRST.points / 2, MOST - FIRST.points),
        "chi": (half, MOST),
    }


@pytest.mark.slow
def test_who_is_excused_has_the_share_of_the_rest_in_course_systems(term, tmp_path):
    """Half of all but one exercise is half of 35; a learner excused from all has no grade."""
    names = {name: {} for name in ("ada", "bao", "chi")}
    moodle = read_roster(downloads.moodle(tmp_path / "m.zip", names, {}))
    canvas = read_roster(downloads.canvas(tmp_path / "c.zip", names, set()))
    for name in names:
        (term.submitted / name).rename(term.submitted / f"{name}@uni.edu")
    term.grade(f"{HEADER}bao@uni.edu,{FIRST.name},excused,ill\nchi@uni.edu,{CH1},excused,ill\n")
    (path,), _ = export(term.out, COURSE, "csv", "moodle", moodle)
    grades = {r["Email address"]: r["Grade"] for r in csv.DictReader(io.StringIO(path.read_text()))}
    assert grades == {"ada@uni.edu": "50.0", "bao@uni.edu": "50.0", "chi@uni.edu": ""}
    (path,), _ = export(term.out, COURSE, "csv", "canvas", canvas)
    last = [row[-1] for row in csv.reader(io.StringIO(path.read_text()))][2:]
    assert last == [f"{MOST / 2:g}", f"{MOST / 2:g}", "EX"]


@pytest.mark.slow
def test_nbgraders_gradebook_has_given_points_and_knows_no_excuse(term, tmp_path):
    from nbgrader.api import Gradebook

    rows = term.grade(DECIDED).values()
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    write_gradebook(url, list(rows), COURSE)
    with Gradebook(url, COURSE.name) as gradebook:
        scores = {s.student_id: s.score for s in gradebook.find_assignment(CH1).submissions}
    half = MOST / 2
    assert scores == {"ada": half - FIRST.points / 2 + 4.5, "bao": half, "chi": half}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, said",
    [
        ("student,exercise\nada,softmax\n", "line 1: there is no column points, reason"),
        (f"{HEADER}ada,soft,1,x\n", "line 2: the course has no exercise and no chapter 'soft'"),
        (f"{HEADER}\nada,softmax,many,x\n", "points must be a number or `excused`, not 'many'"),
        (f"{HEADER}ada,softmax,99,x\n", "gives 0 to 10 points, not 99"),
        (f"{HEADER}ada,softmax,nan,x\n", "gives 0 to 10 points, not nan"),
        (f"{HEADER}ada,{CH1},3,x\n", "can only be excused"),
        (f"{HEADER}ada,softmax,3,\n", "student and reason must not be empty"),
        (
            f"{HEADER}ada,softmax,3,x\nada,softmax,4,y\n",
            "line 3: an earlier line gives other points for softmax to ada",
        ),
        ("\udcff", 'is not UTF-8 text; in Excel, save it as "CSV UTF-8"'),
    ],
)
def test_what_cannot_be_meant_is_a_sentence_before_anything_is_graded(term, text, said):
    (term.out / "overrides.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CourseError) as refused:
        term.grade()
    assert said in str(refused.value) and not (term.out / "results.jsonl").exists()


def test_a_misspelt_learner_is_noted_with_a_similar_name_and_again_at_the_end(term, monkeypatch):
    last = []
    monkeypatch.setattr(
        Silent, "without_effect", lambda self, notes: last.extend(notes), raising=False
    )
    term.grade(f"{HEADER}adda,{FIRST.name},1,x\nzoe,{FIRST.name},1,x\n")
    said = "overrides.csv names learners without results: adda (did you mean ada?), zoe"
    assert said in term.notes and last == [said]
    console = Console(file=io.StringIO())
    progress = ClassProgress(console)
    progress.without_effect(last)
    progress.end("3 rows")
    assert console.file.getvalue().split("\n")[:2] == ["3 rows", f"note: {said}"]


def test_a_changed_decision_is_the_cause_and_a_change_of_nothing_is_not_in_the_log(term):
    def one(points: float) -> str:
        return f"{HEADER}ada,{FIRST.name},{points},right but for a name\n"

    def causes() -> list[tuple]:
        moved = history(term.out)[-1]["moved"]
        return [(*m["points"], m["why"]) for m in moved if m["exercise"] == FIRST.name]

    term.grade()
    term.grade(one(3))
    term.grade(one(4))
    assert causes() == [(3.0, 4.0, "an override")]
    put(term.submitted, "ada", CH1, 1.0, text="another file")
    term.grade()
    assert causes() == [(4.0, 4.0, "another file")], "the status changed, and no points"
    lines = [line for line in log_of(term.out, "ada", COURSE) if f" {FIRST.name} " in line]
    assert [line.partition(FIRST.name)[2] for line in lines] == [
        f" {FIRST.points / 2:g} → 3 (an override)",
        " 3 → 4 (an override)",
    ]


READERS = {
    "overrides.csv": read_overrides,
    "extensions.csv": read_extensions,
    "teams.csv": read_teams,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "lines, said",
    [
        (["a,b,c,d,e"], "line 1: there is no column student"),
        (["", "a,b,c,d,e"], "line 2: there is no column student"),
        (
            ["student,exercise,points,reason,team,chapter,due,hours", "", "ada" + ",x" * 9],
            "line 3: ",
        ),
    ],
)
def test_a_file_without_a_header_or_with_too_many_cells_is_refused(tmp_path, name, lines, said):
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(CourseError, match=said):
        READERS[name](tmp_path, COURSE)


@pytest.mark.parametrize("name", READERS)
def test_an_empty_file_is_refused_and_one_with_a_header_says_nothing(tmp_path, name):
    (tmp_path / name).write_text("")
    with pytest.raises(CourseError, match=f"{name}, line 1: there is no column student, "):
        READERS[name](tmp_path, COURSE)
    (tmp_path / name).write_text("student,team,chapter,exercise,points,due,hours,reason\n")
    assert READERS[name](tmp_path, COURSE) in ({}, Teams())


@pytest.mark.slow
def test_a_name_that_nobody_has_is_a_note_and_a_spreadsheets_own_csv_is_read(term):
    term.grade(f"\ufeff{HEADER}zoe,softmax,1,x\n".replace(",", ";"))
    assert "overrides.csv names learners without results: zoe" in term.notes
    path = term.out / "overrides.csv"
    path.write_text(HEADER.replace(",", ";") + "ada;softmax;4,5;halb\n")
    (found,) = read_overrides(term.out, COURSE).values()
    assert found.points == 4.5
