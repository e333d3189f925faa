"""A learner's own deadline: for one chapter, or in one line for a whole term."""

from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.extensions import (
    COLUMNS,
    extensions_in,
    import_extensions,
    read_extensions,
)
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.store import Store
from tensorgrade.lateness import DAY, Lateness, read_time

from . import downloads
from .runs import grade_by_content, put
from .test_exporting import CH1, CH2, COURSE

DUE = "2027-01-15 23:59"
AT = int(read_time(f"{DUE} UTC").timestamp())
RULE = Lateness({CH1: DUE, CH2: "2027-02-15 23:59"}, share_a_day=0.2, zone="UTC")
HEADER = "student,chapter,due,hours,reason\n"
MOST = COURSE.chapters[0].points


@pytest.fixture
def term(monkeypatch, tmp_path):
    """Three who are a day late; a function that grades, and returns points by learner."""
    for name in ("ada", "ben", "chi"):
        put(tmp_path / "in", name, CH1, 1.0, AT + DAY - 60, name)
    (tmp_path / "out").mkdir()

    def grade(text: str) -> dict[str, float]:
        (tmp_path / "out" / "extensions.csv").write_text(HEADER + text)
        rows, grade.notes = grade_by_content(monkeypatch, tmp_path / "in", grade.out, RULE)
        grade.rows = rows
        points = dict.fromkeys((row["student"] for row in rows), 0.0)
        for row in rows:
            points[row["student"]] += row["points"]
        return {name: round(found, 6) for name, found in points.items()}

    grade.out = tmp_path / "out"
    return grade


@pytest.mark.slow
def test_one_gets_a_new_date_and_one_extra_hours_for_the_whole_term(term):
    late = round(0.8 * MOST, 6)
    assert term("") == {"ada": late, "ben": late, "chi": late}
    given = f"ada,{CH1},2027-01-17 12:00,,ill\nben,all,,48,accommodation\n"
    assert term(given) == {"ada": MOST, "ben": MOST, "chi": late}
    own = {row["student"]: row.get("extension") for row in term.rows}
    assert own["ada"] == {"due": "2027-01-17 12:00 UTC", "reason": "ill"} and own["chi"] is None
    (*_, record) = Store(term.out).history()
    assert {(m["student"], m["why"]) for m in record["moved"]} == {
        ("ada", "an extension"),
        ("ben", "an extension"),
    }
    export(term.out, COURSE, "html", "plain", Roster())
    page = (term.out / "export" / "pages" / "ada.html").read_text()
    assert "Extension until 2027-01-17 12:00 UTC: ill." in page
    assert term("") == {"ada": late, "ben": late, "chi": late}, "taken back with its line"


@pytest.mark.slow
def test_a_line_on_a_chapter_goes_before_one_on_the_term(term):
    assert term(f"ada,all,,48,always\nada,{CH1},,1,this time less\n")["ada"] < MOST


@pytest.mark.slow
def test_a_name_that_nobody_has_is_a_note(term):
    term("zoe,all,,48,x\n")
    assert "extensions.csv names learners without results: zoe" in term.notes


def test_extensions_in_moodles_worksheet_are_added_once(tmp_path):
    names = {name: {} for name in ("ada", "ben", "chi")}
    path = downloads.moodle(tmp_path / "m.zip", names, {})
    granted = (
        "Submitted for grading - 2 days late - Extension granted until: 20 January 2027, 11:59 PM"
    )
    first, *rest = path.read_text("utf-8-sig").splitlines()
    rest[0] = rest[0].replace("Submitted for grading", f'"{granted}"')
    path.write_text("\n".join([first, *rest]))
    (tmp_path / "extensions.csv").write_text(f"{HEADER}ben,all,,48,accommodation\n")
    course, roster = replace(COURSE, lateness=RULE), read_roster(path, "moodle")
    added = import_extensions(tmp_path, course, roster, CH1)
    assert added == [f"ada@uni.edu: {CH1} until 2027-01-20 23:59 UTC"]
    found = read_extensions(tmp_path, course)
    assert found["ada@uni.edu", CH1].due == "2027-01-20 23:59 UTC"
    assert found["ben", CH2].reason == "accommodation", "lines of before stay"
    assert import_extensions(tmp_path, course, roster, CH1) == []
    undated = replace(COURSE, lateness=replace(RULE, deadlines={}))
    (tmp_path / "extensions.csv").unlink()
    with pytest.raises(CourseError, match=r"ada@uni.edu: .* has no deadline"):
        import_extensions(tmp_path, undated, roster, CH1)
    later = replace(course, lateness=Lateness({CH1: "2027-01-30 12:00"}, zone="UTC"))
    assert import_extensions(tmp_path, later, roster, CH1) == [], "the class has more time"


@pytest.mark.slow
@pytest.mark.parametrize(
    "line, why",
    [
        (f"ada,{CH1},,,ill", "line 2: give either a new deadline or extra hours"),
        (f"ada,{CH1},2027-01-17 12:00,3,ill", "give either a new deadline or extra hours"),
        ("ada,ch9,,3,ill", "the course has no chapter 'ch9'; `all` means every chapter"),
        (f"ada,{CH1},tomorrow,,ill", "'tomorrow' is not a time"),
        (f"ada,{CH1},,many,ill", "hours must be a number, not 'many'"),
        (f"ada,{CH1},,-3,ill", "hours must be more than 0"),
        (f"ada,{CH1},,3,", "say whose deadline is extended, and why"),
        (f"ada,{CH1},,3,x\nada,{CH1},,4,y", f"line 3: a line above extends {CH1} for ada"),
        (f"ada,{COURSE.chapters[2].name},,3,x", "has no deadline in course_config.py"),
    ],
)
def test_what_is_no_extension_is_refused_with_its_line(term, line, why):
    with pytest.raises(CourseError, match=why):
        term(f"{line}\n")


def test_a_date_for_all_shortens_no_deadline():
    course = replace(COURSE, lateness=RULE)
    line = dict(zip(COLUMNS, ["ada", "all", "2027-01-17 12:00", "", "ill"], strict=True))
    found = extensions_in(line, course)
    assert {about: one.due for about, one in found.items()} == {
        ("ada", CH1): "2027-01-17 12:00 UTC"
    }


def test_a_date_before_the_chapters_deadline_is_refused_with_its_line(tmp_path):
    (tmp_path / "extensions.csv").write_text(f"{HEADER}ada,{CH1},2027-01-14 12:00,,ill\n")
    why = "line 2: 2027-01-14 12:00 UTC is before the chapter's deadline, 2027-01-15 23:59 UTC"
    with pytest.raises(CourseError, match=why):
        read_extensions(tmp_path, replace(COURSE, lateness=RULE))


def test_extra_hours_end_at_a_time_in_the_courses_zone():
    course = replace(
        COURSE, lateness=Lateness({CH1: "2026-09-20 23:59 Europe/Berlin"}, zone="Europe/Berlin")
    )
    line = dict(zip(COLUMNS, ["ada", CH1, "", "72", "ill"], strict=True))
    (given,) = extensions_in(line, course).values()
    assert given.due == "2026-09-23 23:59:00 Europe/Berlin"
