"""Which points count: late work, attempts, overrides and the term; and when results are shown."""

import csv
import io
import json
import shutil

import pytest

from tensorgrade.author.handouts import notebook_text
from tensorgrade.cells import Cell, read_lesson
from tensorgrade.course import Course, Settings
from tensorgrade.lateness import Lateness
from tensorgrade.project import resolve
from tensorgrade.views.lessons import lessons_page

from ..support import ROOT, CourseError, load_course
from .runs import (
    CH1,
    CH2,
    CH3,
    CHAPTER,
    COURSE,
    MOST,
    WHEN,
    chapter_rows,
    notes_in,
    points_of,
    put_rows,
    row,
    squeezed,
)

pytestmark = pytest.mark.slow
DAY = 24 * 60 * 60
DUE = "2027-01-15 09:00 Europe/Berlin"  # WHEN
RULE = {"deadlines": {CH1: DUE}, "share_a_day": 0.2, "most": 0.5, "grace_seconds": 600}
# Seconds after the deadline, and the share of the points that is left.
LATE = {-5: 1.0, 600: 1.0, 601: 0.8, DAY: 0.8, DAY + 1: 0.6, 3 * DAY: 0.5, 100 * DAY: 0.5}
FIRST, SECOND = CHAPTER.exercises[:2]
HEADER = "student,exercise,points,reason"
DECIDED = [HEADER, f"ada,{FIRST.name},4.5,right but for a name", f"bao,{FIRST.name},excused,ill"]


# --- late work, and extensions -------------------------------------------------------------------

DUES = {CH1: DUE, CH2: "2027-02-15 09:00", CH3: "2027-03-27 23:59"}  # the course is in Berlin
WHEN_DUE = {CH1: WHEN, CH2: WHEN + 31 * DAY, CH3: WHEN + 71 * DAY + 53_940}
EXTENDED = [
    "student,chapter,due,hours,reason",
    f"date,{CH1},2027-01-16 12:00,,ill",
    "hours,all,,48,accommodation",
    "both,all,,48,always",
    f"both,{CH1},,1,this time less",
    "early,all,2027-01-17 12:00,,ill",
    f"clocks,{CH3},,24,ill",
    "zoe,all,,48,x",
]
# A learner: the chapter, the seconds after its deadline, and the share of the points that is left.
TIMES = {f"{seconds}": (CH1, seconds, share) for seconds, share in LATE.items()} | {
    "date": (CH1, DAY, 1.0),
    "hours": (CH1, DAY, 1.0),
    "both": (CH1, DAY, 0.8),  # the line on the chapter counts
    "early": (CH2, -DAY, 1.0),  # no line shortens a deadline
    "clocks": (CH3, DAY, 1.0),
}
STAMPS = {"none": "", "s0": "yesterday", "s1": "\N{SNOWMAN}", "s2": "2027-02-30 00:00 UTC"}


def test_late_work_loses_what_the_rule_says_and_extensions_are_taken_back_with_their_lines(term):
    rule = RULE | {"deadlines": DUES, "zone": "Europe/Berlin"}
    term.settings(**rule)
    most = {chapter: COURSE.chapter(chapter).points for chapter in DUES}
    deserved = {name: round(most[where] * share, 6) for name, (where, _, share) in TIMES.items()}
    for name, (chapter, seconds, _) in TIMES.items():
        term.put(name, 1.0, WHEN_DUE[chapter] + seconds, name, chapter)
    for name, text in STAMPS.items():
        stamp = term.put(name, 1.0, text=name).parent / "timestamp.txt"
        stamp.write_text(text, encoding="utf-8") if text else stamp.unlink()
    (term.submitted / "nothing").mkdir()
    term.write("extensions.csv", *EXTENDED)
    graded = term.grade()
    assert points_of(graded) == deserved | dict.fromkeys(STAMPS, MOST) | {"nothing": 0.0}
    row = graded.rows["601", CH1, FIRST.name]
    assert (row["submitted"], row["late_seconds"]) == ("2027-01-15 08:10:01 UTC", 601.0)
    assert row["status"] == "passed" and row["points"] + row["penalty"] == row["max_points"]
    assert (
        graded.rows["600", CH1, FIRST.name]["penalty"]
        == 0
        == graded.rows["s1", CH1, FIRST.name]["late_seconds"]
    )
    (note,) = notes_in(graded.said, "unknown times, which count as on time")
    assert note.endswith(": none, s0, s1, s2")
    assert "extensions.csv names learners without results: zoe" in graded.said
    due = {"due": "2027-01-16 12:00 Europe/Berlin", "reason": "ill"}
    assert graded.rows["date", CH1, FIRST.name]["extension"] == due
    clocks = graded.rows["clocks", CH3, COURSE.chapter(CH3).exercises[0].name]["extension"]["due"]
    assert clocks == "2027-03-29 00:59:00 Europe/Berlin", "clocks skip an hour in between"
    assert any("extension" in line for line in term.log("hours"))
    page = term.exported("pages/date.html", "--format", "pages")
    assert "Extension until 2027-01-16 12:00 Europe/Berlin: ill." in page
    term.write("extensions.csv", EXTENDED[0])
    again = term.grade()
    taken = {name: round(0.8 * MOST, 6) for name in ("date", "hours")}
    assert points_of(again).items() >= taken.items() and " of them graded before" in again.said
    term.settings(deadlines=dict.fromkeys(DUES, "2028-01-15 23:59 UTC"), share_a_day=0.2)
    assert term.points()["601"] == MOST, "a deadline that moves, moves points"


WRONG_EXTENSIONS = {
    f"ada,{CH1},,,ill": "line 2: give either a new deadline or extra hours",
    f"ada,{CH1},2027-01-17 12:00,3,ill": "give either",
    "ada,ch9,,3,ill": "line 2: there is no chapter named ch9",
    f"ada,{CH1},tomorrow,,ill": "'tomorrow' is not a time",
    f"ada,{CH1},,many,ill": "not 'many'",
    f"ada,{CH1},,-3,ill": "more than 0",
    f"ada,{CH1},,3,": "line 2: reason must not be empty",
    f"ada,{CH1},,3,x\nada,{CH1},,4,y": "line 3: an earlier line",
    f"ada,{CH3},,3,x": "has no deadline",
    f"ada,{CH1},2027-01-14 12:00,,ill": "is before the chapter's deadline",
}


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"deadlines": {"ch9": DUE}}, "ch9"),
        ({"deadlines": {CH1: "tomorrow"}}, "'tomorrow' is not a time"),
        ({"deadlines": {CH1: "2027-02-30 23:59 UTC"}}, "is not a time"),
        ({"deadlines": {CH1: "2027-01-15 23:59 Mars/Base"}}, "Mars/Base"),
        ({"share_a_day": 20}, "share_a_day"),
        ({"attempts": "first"}, "attempts"),
        ({"feedback_from": "soon"}, "feedback_from"),
        ({"feedback_from": "2032-01-20 08:00"}, "names no time zone"),
        ({"hidden_runs_a_day": -1}, "hidden_runs_a_day"),
        ({"more": {"scheme": {"weights": {"ch9": 1}}}}, "ch9"),
        ({"more": {"scheme": {"drop_lowest": 6}}}, "drop_lowest is 6"),
        ({"more": {"scheme": {"pass_mark": 120}}}, "pass_mark"),
        ({"more": {"scheme": {"decimals": -1}}}, "decimals"),
        ({"more": {"scheme": {"bonus": ("ch9",), "most": -1}}}, "most"),
    ],
)
def test_settings_that_cannot_be_are_one_sentence(term, settings, said):
    term.settings(**settings)
    with pytest.raises(CourseError, match=said):
        load_course(term.course / "graders")


# --- which attempt counts ------------------------------------------------------------------------


def test_the_last_attempt_counts_or_the_best(term):
    """Every attempt is kept, so the rule may change; the log names it, and the file that counts."""
    got = []
    for share, attempts in ((0.5, "last"), (0.75, "last"), (0.25, "last"), (0.25, "best")):
        term.settings(attempts=attempts)
        term.put("ada", share)
        got.append(term.points()["ada"] / MOST)
    assert got == [0.5, 0.75, 0.25, 0.75]
    *lines, _, last = term.log("ada")
    assert "another file" in lines[-1], "the rule counts it"
    assert last.startswith(f"{CH1}: {0.75 * MOST:g} of") and "of the earlier file" in last


def test_the_best_attempt_counts_as_todays_graders_judge_it(term):
    """If its file is still there: in SUBMITTED, or where `collect` keeps earlier ones."""
    term.settings(attempts="best")
    best = term.put("ada", 0.75)
    kept = term.submitted / ".replaced" / "ada" / f"{CH1}-1"
    shutil.copytree(best.parent, kept)
    for share in (0.75, 0.5):
        term.put("ada", share)
        assert term.points()["ada"] == 0.75 * MOST
    term.settings(graders=6, attempts="best")
    term.finds = {"ada": 1.0}
    term.put("ada", 0.25)
    assert term.points()["ada"] == MOST
    shutil.rmtree(kept)
    term.settings(graders=7, attempts="best")
    term.finds = {"ada": 0.125}
    assert term.points()["ada"] == MOST, "nothing is lost"
    assert sum("points found" in line for line in term.log("ada")) == 5


def test_the_best_attempt_is_that_with_most_points_after_its_penalty(term):
    term.settings(deadlines={CH1: DUE}, share_a_day=0.5, attempts="best")
    for share, at in ((0.8, WHEN - 5), (1.0, WHEN + 5)):
        term.put("ada", share, at)
        graded = term.grade()
    assert points_of(graded)["ada"] == pytest.approx(0.8 * MOST)
    assert {row["late_seconds"] for row in graded.rows.values()} == {0.0}


# --- overrides -----------------------------------------------------------------------------------


@pytest.fixture
def decided(term):
    """A class of three with half of the points each, and two decisions of an instructor."""
    for name in ("ada", "bao", "chi"):
        term.put(name, 0.5, text=name)
    term.found = term.grade()
    term.write("overrides.csv", *DECIDED)
    return term


def test_a_decision_stays_through_new_files_and_is_taken_back_with_its_line(decided):
    graded = decided.grade()
    given, excused = (graded.rows[name, CH1, FIRST.name] for name in ("ada", "bao"))
    assert (given["points"], given["max_points"]) == (4.5, FIRST.points)
    assert given["override"] == {
        "found": FIRST.points / 2, "of": FIRST.points, "reason": "right but for a name",
    }  # fmt: skip
    assert (excused["points"], excused["max_points"]) == (0.0, 0.0)
    others = [row for key, row in graded.rows.items() if row != decided.found.rows[key]]
    assert others == [given, excused]
    assert f"  ada/{CH1}: {MOST / 2:g} → {MOST / 2 + 2:g}" in graded.said, "of the whole chapter"
    assert "(an override)" in decided.use("log", "ada")
    again = decided.grade()
    assert again.rows == graded.rows and "differ" not in again.said
    decided.put("ada", 1.0, text="another file")
    again = decided.grade()
    assert again.rows["ada", CH1, FIRST.name]["points"] == 4.5
    assert again.rows["ada", CH1, SECOND.name]["points"] == SECOND.points
    (decided.out / "overrides.csv").unlink()
    again = decided.grade()
    assert again.rows["bao", CH1, FIRST.name] == decided.found.rows["bao", CH1, FIRST.name]
    assert again.rows["ada", CH1, FIRST.name]["points"] == FIRST.points


def test_report_pages_and_exports_show_the_decisions_and_late_work_loses_nothing_of_them(decided):
    decided.grade()
    page = squeezed(decided.page())
    assert "Decided by an instructor" in page and "2.5 of 5 → excused" in page
    assert "Your instructor gave 4.5 points: right but for a name" in page
    own = squeezed(decided.exported("pages/bao.html", "--format", "pages"))
    assert "excused this: ill" in own and f"of {MOST - FIRST.points:g} points" in own
    lines = csv.DictReader(io.StringIO(decided.exported("grades.csv")))
    half = MOST / 2
    assert {r["student"]: (float(r["points"]), float(r["max_points"])) for r in lines} == {
        "ada": (half - FIRST.points / 2 + 4.5, MOST),
        "bao": (half - FIRST.points / 2, MOST - FIRST.points),
        "chi": (half, MOST),
    }
    decided.settings(deadlines={CH1: "2027-01-01 12:00 UTC"}, share_a_day=0.5)
    rows = decided.grade().rows
    given = rows["ada", CH1, FIRST.name]
    assert (given["points"], given["penalty"]) == (4.5, 0.0)
    assert rows["ada", CH1, SECOND.name]["penalty"] > 0


BAD_OVERRIDES = [
    ("student,exercise\nada,softmax\n", "line 1: there is no column points, reason"),
    (f"{HEADER}\nada,soft,1,x\n", "line 2: no exercise is named soft; there is softmax"),
    (f"{HEADER}\n\nada,softmax,many,x\n", "line 3: points must be a number"),
    (f"{HEADER}\nada,softmax,99,x\n", "gives 0 to 10 points, not 99"),
    (f"{HEADER}\nada,softmax,nan,x\n", "not nan"),
    (f"{HEADER}\nada,{CH1},3,x\n", "can only be excused"),
    (f"{HEADER}\nada,softmax,3,\n", "must not be empty"),
    (f"{HEADER}\nada,softmax,3,x\nada,softmax,4,y\n", "line 3: an earlier line"),
    ("\udcff", "is not UTF-8 text"),
]
WRONG_TEAMS = {
    "ada,owls,": "line 3: an earlier line says something else",
    "chi,,": "line 3: team must not be empty",
    "chi,x,ch9": "no chapter named ch9",
}
COLUMNS = "student,exercise,points,reason,team,chapter,due,hours"


def test_a_file_that_cannot_be_meant_is_one_sentence_before_anything_is_graded(term):
    term.settings(**RULE, zone="UTC")
    term.put("ada", 0.5)
    extensions = [(f"{EXTENDED[0]}\n{line}", said) for line, said in WRONG_EXTENSIONS.items()]
    teams = [(f"student,team,chapter\nada,x,\n{line}", said) for line, said in WRONG_TEAMS.items()]
    wrong = {"overrides.csv": BAD_OVERRIDES, "extensions.csv": extensions, "teams.csv": teams}
    for name, lines in wrong.items():
        path = term.write(name, "")
        for text, said in [
            *lines,
            ("\na,b,c,d,e", f"{name}, line 2: there is no column student"),
            (f"{COLUMNS}\n\nada{',x' * 9}", "line 3: "),
        ]:
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
            assert said in term.grade(refused=True).said, text
            assert not (term.out / "results.jsonl").exists()
        path.write_text(f"{COLUMNS}\n")
    assert term.points() == {"ada": MOST / 2}, "a header alone decides nothing"


def test_unknown_learners_are_reported_and_a_spreadsheets_own_csv_is_read(term):
    term.put("ada", 0.5)
    text = f"\ufeff{HEADER}\nadda,softmax,1,x\nzoe,softmax,1,x".replace(",", ";")
    term.write("overrides.csv", *text.split("\n"), "ada;softmax;4,5;half")
    graded = term.grade()
    assert graded.rows["ada", CH1, "softmax"]["points"] == 4.5
    (note,) = notes_in(graded.said, "without results: adda, zoe")
    assert graded.said.rstrip().endswith(note), "at the end"


# --- teams ---------------------------------------------------------------------------------------

FALCONS = ("student,team,chapter", "ada,falcons,", "ben,falcons,")


def test_one_file_has_the_same_points_for_each_member(term):
    term.put("ada", 0.5)
    term.put("chi", 0.5)
    term.write("teams.csv", *FALCONS)
    graded = term.grade()
    assert term.points() == {"ada": MOST / 2, "ben": MOST / 2, "chi": MOST / 2}
    teams = {student: row.get("team") for (student, _, _), row in graded.rows.items()}
    assert teams == {"ada": "falcons", "ben": "falcons", "chi": None}
    assert "no submission for" not in graded.said
    assert notes_in(graded.said, "have no folder, and their team's points")[0].endswith(": ben")
    page = term.exported("pages/ben.html", "--format", "pages")
    assert "falcons" in page and "ada" not in page
    listed = term.page().partition("<h2>Identical")[2].partition("<h2>")[0]
    assert ">chi<" in listed, "a copy of a team's file is listed"
    term.put("ben", 1.0, WHEN + 60)
    said = term.grade().said
    assert "members of team falcons submitted different files" in said and "of ben counts" in said
    assert term.points() == {"ada": MOST, "ben": MOST, "chi": MOST / 2}, "the newest counts"
    assert any("another file" in line for line in term.log("ada"))


def test_extensions_and_overrides_stay_with_one_member_and_a_chapters_line_goes_first(term):
    term.settings(deadlines={CH1: "2027-01-15 00:00"}, share_a_day=0.2, zone="UTC")
    term.put("ada", 1.0)
    term.put("chi", 0.0)
    term.write("teams.csv", *FALCONS, f"chi,owls,{CH1}", f"dan,owls,{CH1}", f"ada,owls,{CH2}")
    term.write("extensions.csv", "student,chapter,due,hours,reason", f"ben,{CH1},,48,ill")
    own = f"ada,{FIRST.name},0,not ada's own work"
    term.write("overrides.csv", "student,exercise,points,reason", own)
    first = round(0.8 * (MOST - FIRST.points), 6)
    assert term.points() == {"ada": first, "ben": MOST, "chi": 0, "dan": 0}


# --- the grade for the term ----------------------------------------------------------------------

EVEN = dict.fromkeys((CH1, CH2, CH3), 1.0)


def test_the_grade_for_the_term_is_the_same_in_every_view(term):
    """The lowest dropped, weights, a pass mark, a bonus; excused chapters count for nothing."""
    shares = {"ada": (0.6, 0.9, 0.4), "ben": (0.8,), "chi": (0.8, None, 0.6), "dan": (None,) * 3}
    excused = [HEADER]
    for name, own in shares.items():
        for chapter, share in zip(EVEN, own, strict=False):
            term.put(name, share or 0.0, text=name, chapter=chapter)
            excused += [f"{name},{chapter},excused,ill"] if share is None else []
    term.write("overrides.csv", *excused)
    term.grade()

    def totals(**scheme) -> dict[str, tuple[str, str, str]]:
        term.settings(more={"scheme": scheme})
        rows = csv.DictReader(io.StringIO(term.exported("term.csv")))
        return {row["student"]: (row["total"], row["passed"], row["dropped"]) for row in rows}

    # 60, 90 and 40 percent, the lowest dropped, weights 1, 2, 1: the example in the documentation
    found = totals(drop_lowest=1, weights=EVEN | {CH2: 2.0}, pass_mark=50)
    assert found["ada"] == ("80.0", "yes", CH3)
    assert "80 of 100" in squeezed(term.exported("pages/ada.html", "--format", "pages"))
    assert term.log("ada")[-1] == f"The term so far: 80 of 100, without {CH3}: passed."
    found = totals(weights=EVEN, pass_mark=70)
    assert [found[name][:2] for name in ("ben", "chi", "dan")] == [
        ("26.7", "no"), ("70.0", "yes"), ("", ""),
    ]  # fmt: skip
    assert totals(weights=EVEN, bonus=(CH3,))["ada"][0] == "95.0"
    assert totals(weights=EVEN, bonus=(CH3,), most=90.0)["ada"][0] == "90.0"
    assert totals(weights=EVEN, bonus=(CH3,), drop_lowest=1)["ada"] == ("130.0", "", CH1)
    said = term.use("export", "--chapter", CH1)
    assert "term.csv" not in said, "one chapter has no term"
    assert "of them graded before" in term.grade().said, "a scheme grades no learner again"


# --- what learners see, and when -----------------------------------------------------------------


SHOWN = "2025-01-15 23:59 Europe/Berlin"


def test_learners_see_deadlines_and_no_penalties_and_their_own_extension(term):
    term.settings(deadlines={CH1: "2025-01-15 22:59 UTC"}, zone="Europe/Berlin", share_a_day=0.2)
    for name in ("ada", "ben"):
        term.put(name, 1.0)
    term.write("extensions.csv", EXTENDED[0], f"ada,{CH1},2025-01-20 12:00,,ill")
    term.grade()
    ada = squeezed(term.exported("pages/ada.html", "--format", "pages"))
    assert "Due 2025-01-20 12:00 Europe/Berlin, your extension" in ada
    assert f"Due {SHOWN}" in squeezed(term.exported("pages/ben.html", "--format", "pages"))
    public = load_course(term.course / "graders").public_json()
    assert json.loads(public)["chapters"][0]["due"] == SHOWN and "share_a_day" not in public


def test_notebooks_and_lessons_show_the_deadline_below_the_title():
    rule = Lateness({CH1: "2025-01-15 22:59 UTC"}, zone="Europe/Berlin")
    settings = Settings("a", "A", 1, (CH1,), {}, lateness=rule)
    course = Course.from_json(resolve(settings, ROOT).public_json())
    folder = ROOT / "solutions"
    for cells in (read_lesson(folder / f"{CH1}.py"), [Cell("# A", is_text=True), Cell("a = 1")]):
        made = notebook_text(cells, course.chapters[0], folder / "pictures")
        (first, *_) = json.loads(made)["cells"]
        text = "".join(first["source"])
        assert text.startswith("# ") and f"**Due: {SHOWN}.**" in text
    assert f"due {SHOWN}" in lessons_page(course, ROOT, {})


SECRET = "The scores are scaled."


def test_results_are_hidden_until_the_date_for_feedback(term):
    """Learners see that a file was received and can be loaded; instructors see all."""
    told = "It could not be loaded: line 3."
    broken = chapter_rows("bao", status="error", share=0.0, message=told)
    none = {"message": "There is no submission.", "message_id": "nothing_submitted"}
    rows = chapter_rows("ada", status="failed", share=0.25, message=SECRET) + broken
    put_rows(term.out, [*rows, row("chi", 0, "not_attempted", 0.0, **none)])
    term.settings(zone="Europe/Berlin", feedback_from="2032-01-20 08:00")
    term.use("export", "--format", "pages")
    pages = term.out / "export" / "pages"
    ada, bao, chi = (squeezed((pages / f"{n}.html").read_text()) for n in ("ada", "bao", "chi"))
    assert SECRET not in ada and "wrong" not in ada and "was received" in ada
    assert "2032-01-20 08:00 Europe/Berlin" in ada
    assert "line 3" in bao and "Nothing was submitted" in chi
    for form in ("moodle", "canvas"):
        said = term.use("export", "--format", form, "--chapter", CH1, refused=True)
        assert "before 2032-01-20 08:00" in said
    assert f"{MOST / 4:g}" in term.exported("grades.csv"), "instructors have the points"
    term.settings(feedback_from="2030-01-20 08:00 UTC")
    assert SECRET in squeezed(term.exported("pages/ada.html", "--format", "pages"))
