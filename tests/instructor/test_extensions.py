"""A learner's own deadline: for one chapter, or in one line for a whole term."""

import pytest

from .runs import CH1, CH2, CH3, MOST, WHEN, Term

pytestmark = pytest.mark.slow
HEADER = "student,chapter,due,hours,reason"
RULE = {"deadlines": {CH1: "2027-01-15 08:00", CH2: "2027-02-15 23:59"}, "share_a_day": 0.2}
DAY = 24 * 60 * 60
LATE = round(0.8 * MOST, 6)


@pytest.fixture
def term(term) -> Term:
    """Three learners who are a day late."""
    term.settings(**RULE, zone="UTC")
    for name in ("ada", "ben", "chi"):
        term.put(name, 1.0, WHEN + DAY - 60, name)
    return term


def test_one_gets_a_new_date_and_one_extra_hours_for_the_whole_term(term):
    late = dict.fromkeys(("ada", "ben", "chi"), LATE)
    assert term.points() == late
    own = f"ada,{CH1},2027-01-17 12:00,,ill"
    term.write("extensions.csv", HEADER, own, "ben,all,,48,accommodation", "zoe,all,,48,x")
    graded = term.grade()
    assert term.points() == late | {"ada": MOST, "ben": MOST}
    given = {student: row.get("extension") for (student, _, _), row in graded.rows.items()}
    due = {"due": "2027-01-17 12:00 UTC", "reason": "ill"}
    assert given["ada"] == due and given["chi"] is None
    assert "extensions.csv names learners without results: zoe" in graded.said
    assert any("extension" in line for line in term.log("ben"))
    page = term.exported("pages/ada.html", "--format", "pages")
    assert "Extension until 2027-01-17 12:00 UTC: ill." in page
    term.write("extensions.csv", HEADER)
    assert term.points() == late, "taken back with its line"


def test_a_line_on_a_chapter_goes_before_one_on_the_term_and_no_line_shortens_a_deadline(term):
    term.put("dan", 1.0, WHEN + 20 * DAY, chapter=CH2)
    both = ("ada,all,,48,always", f"ada,{CH1},,1,this time less", "dan,all,2027-01-17 12:00,,ill")
    term.write("extensions.csv", HEADER, *both)
    points = term.points()
    assert points["ada"] == LATE and points["dan"] > MOST, "dan has chapter 2 in time"


def test_what_is_no_extension_is_refused_with_its_line(term):
    wrong = {
        f"ada,{CH1},,,ill": "line 2: give either a new deadline or extra hours",
        f"ada,{CH1},2027-01-17 12:00,3,ill": "give either",
        "ada,ch9,,3,ill": "no chapter 'ch9'; `all` means",
        f"ada,{CH1},tomorrow,,ill": "'tomorrow' is not a time",
        f"ada,{CH1},,many,ill": "not 'many'",
        f"ada,{CH1},,-3,ill": "more than 0",
        f"ada,{CH1},,3,": "why",
        f"ada,{CH1},,3,x\nada,{CH1},,4,y": "line 3: a line above",
        f"ada,{CH3},,3,x": "has no deadline",
        f"ada,{CH1},2027-01-14 12:00,,ill": "is before the chapter's deadline",
    }
    for line, word in wrong.items():
        term.write("extensions.csv", HEADER, line)
        assert word in term.grade(refused=True).said


def test_extra_hours_end_at_a_time_in_the_courses_zone(term):
    term.settings(deadlines={CH1: "2027-03-27 23:59 Europe/Berlin"}, zone="Europe/Berlin")
    term.write("extensions.csv", HEADER, f"ada,{CH1},,24,ill")
    due = {row["extension"]["due"] for row in term.grade().rows.values() if row.get("extension")}
    assert due == {"2027-03-29 00:59:00 Europe/Berlin"}, "clocks skip an hour in between"
