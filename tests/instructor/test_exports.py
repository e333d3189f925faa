"""Exports have the points of the report, in the formats of the course systems."""

import csv
import io
import zipfile

import pytest
from openpyxl import load_workbook

from . import downloads
from .runs import (
    CH1,
    CH2,
    CHAPTER,
    COURSE,
    MOST,
    NAMES,
    chapter_rows,
    notes_in,
    put_rows,
    row,
    squeezed,
)
from .test_report import HOSTILE, Page

pytestmark = pytest.mark.slow
SHARES = {"ada": 1.0, "bao": 0.5, "chi": 0.25}


def table(text: str, **options) -> list[dict[str, str]]:
    """Return the rows of a CSV, by column."""
    return list(csv.DictReader(io.StringIO(text), **options))


# --- CSV, workbook -------------------------------------------------------------------------------


def test_csv_and_workbook_have_the_points_that_count_and_nothing_is_calculated(term):
    term.settings(deadlines={CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2)
    for name in ("=1+1 José", "ada"):
        term.put(name, 1.0)
    term.put("ada", 0.5, chapter=CH2)
    term.grade()
    formula, _, ada, _ = table(term.exported("grades.csv"))
    assert term.said.strip() == str(term.out / "export" / "grades.csv")
    assert list(ada.values()) == [
        "ada", CH1, "31.2", "39", "7.8", "3600.0", "2027-01-15 08:00:00 UTC", "6", "6",
    ]  # fmt: skip
    assert formula["student"] == "'=1+1 José"
    roster = term.write("roster.csv", "Full name,Username,Section", "Ada O'Neil,ada,Lab 1")
    term.use("export", "--format", "xlsx", "--roster", roster)
    (path,) = (term.out / "export").glob("*.xlsx")
    book = load_workbook(path)
    points = {line[:2]: line[2] for line in book["grades"].iter_rows(values_only=True)}
    assert (points["=1+1 José", CH1], points["ada", CH1]) == (31.2, 31.2)
    assert book["grades"]["A2"].data_type == "s", "nothing is calculated"
    *_, ada = book["class"].iter_rows(values_only=True)
    one, two = 31.2, COURSE.chapters[1].points / 2
    assert ada[:6] == ("ada", "Ada O'Neil", "Lab 1", one, two, one + two)
    assert book["class"].auto_filter.ref


# --- Moodle --------------------------------------------------------------------------------------


@pytest.fixture
def moodle(term):
    """A class that came through Moodle, and its grading worksheet, with one more learner."""
    files = {login: {f"{CH1}.py": f"{share} ".encode()} for login, share in SHARES.items()}
    term.worksheet = downloads.moodle(term.folder / "m.zip", files, {})
    with term.worksheet.open("a", encoding="utf-8") as file:
        file.write("Participant 99,Zoe Zero,zoe@uni.edu,No submission,,100.00,Yes,-,-,\n")
    told = ("--from", "moodle", "--roster", term.worksheet)
    term.run("collect", term.folder / "m.zip", term.submitted, *told)
    term.grade()
    return term


def worksheet(term, *edits: tuple[str, str]) -> None:
    """Edit the worksheet as Moodle would give it back."""
    text = term.worksheet.read_text(encoding="utf-8-sig")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    term.worksheet.write_text(text, encoding="utf-8-sig")


def to_moodle(term, *options: str, separator: str = ",") -> list[dict[str, str]]:
    """Export into the worksheet; return its rows."""
    told = ("--format", "moodle", "--roster", term.worksheet, *options)
    return table(term.exported(f"moodle-{CH1}.csv", *told), delimiter=separator)


def test_moodles_own_worksheet_comes_back_filled_in(moodle):
    given = table(moodle.worksheet.read_text(encoding="utf-8-sig"))
    rows = to_moodle(moodle)
    assert [one["Grade"] for one in rows] == ["100.0", "50.0", "25.0", "0.0"], "of Moodle's 100"
    assert notes_in(moodle.said, "scaled to 100")
    assert rows[1]["Feedback comments"].count("<br>") == len(NAMES) - 1
    ours = {"Grade", "Feedback comments"}
    for old, new in zip(given, rows, strict=True):
        assert {k: v for k, v in old.items() if k not in ours} == {
            k: v for k, v in new.items() if k not in ours
        }


@pytest.mark.parametrize(
    "edits, grades, word",
    [
        ([("100.00", "39.00")], ["39.0", "19.5"], ""),
        ([("100.00", '"70,5"')], ["70.5", "35.25"], "scaled to 70.5"),
        ([("100.00", "-")], ["39.0", "19.5"], "does not give"),
        ([("Maximum grade", "Scale"), ("100.00", '"Good, Fair"')], ["", ""], "as with a scale"),
        ([(",Feedback comments", "")], ["100.0", "50.0"], "no column of feedback comments"),
    ],
)
def test_grades_are_out_of_what_the_worksheet_says(moodle, edits, grades, word):
    worksheet(moodle, *edits)
    assert [one["Grade"] for one in to_moodle(moodle)][:2] == grades
    notes = [note for note in notes_in(moodle.said, "") if "change, 0 fall" not in note]
    assert bool(notes) == bool(word) and word in " ".join(notes)


def test_a_german_worksheet_with_other_separators_stays_in_its_form(moodle):
    worksheet(moodle, ("Participant ", "Teilnehmer/in"), ("Identifier,", "ID,"))
    text = moodle.worksheet.read_text(encoding="utf-8-sig")
    for separator, mark in ((",", "\ufeff"), (";", ""), ("\t", "\ufeff")):
        moodle.worksheet.write_text(mark + text.replace(",", separator), encoding="utf-8")
        rows = to_moodle(moodle, separator=separator)
        assert rows[0]["ID"] == "Teilnehmer/in12345" and rows[0]["Grade"] == "100.0"
        raw = (moodle.out / "export" / f"moodle-{CH1}.csv").read_text(encoding="utf-8")
        assert raw.startswith(f"{mark}ID{separator}Full name")


GIVEN = "@uni.edu,Submitted for grading,,100.00,Yes,-,-,"


def test_what_changes_is_shown_and_typed_cells_are_refused(moodle):
    """Moodle gives ours back rounded, with tags in comments."""
    first = to_moodle(moodle)
    assert notes_in(moodle.said, "grades of 4 change, 0 fall")
    told = first[0]["Feedback comments"].replace("<br>", "<br />")
    ours = GIVEN.replace(",,", ",100.00,", 1) + f'"<p>{told}</p>"'
    worksheet(moodle, (f"ada{GIVEN}", f"ada{ours}"))
    assert to_moodle(moodle) == first and notes_in(moodle.said, "grades of 0 change, 0 fall")
    worksheet(moodle, (f"bao{GIVEN}", "bao" + GIVEN.replace(",,", ",55.00,", 1) + "See me"))
    asked = ("--format", "moodle", "--roster", moodle.worksheet)
    said = " ".join(moodle.use("export", *asked, refused=True).split())
    assert "bao@uni.edu: Grade 55.00 (ours: 50.0), bao@uni.edu: Feedback comments See me" in said
    assert "ada@" not in said and "Nothing is written; --overwrite" in said
    assert to_moodle(moodle, "--overwrite")[1]["Grade"] == "50.0"
    worksheet(moodle, ("55.00,100.00,Yes", "55.00,100.00,No"))
    assert to_moodle(moodle)[1]["Grade"] == "55.00", "Moodle does not let it change"


def test_grades_that_fall_are_refused(moodle):
    to_moodle(moodle)
    moodle.put("ada@uni.edu", 0.5, text="again")
    moodle.grade()
    asked = ("--format", "moodle", "--roster", moodle.worksheet)
    said = " ".join(moodle.use("export", *asked, refused=True).split())
    assert "grades of 1 of 4 would fall: ada@uni.edu 100 → 50.0. Nothing is written" in said
    assert to_moodle(moodle, "--overwrite")[0]["Grade"] == "50.0"
    assert notes_in(moodle.said, "grades of 1 change, 1 fall: ada@uni.edu 100 → 50.0")


def test_formulas_of_learners_are_none_and_cells_of_others_stay(moodle):
    worksheet(moodle, ("Zoe Zero", "-Zoe Zero"))
    text = moodle.worksheet.read_text(encoding="utf-8-sig").splitlines()
    lines = [f"{text[0]},Online text", *(f'{line},"=1+1"' for line in text[1:])]
    moodle.worksheet.write_text("\n".join(lines), encoding="utf-8-sig")
    rows = to_moodle(moodle)
    assert {one["Online text"] for one in rows} == {"'=1+1"}
    assert rows[3]["Full name"] == "-Zoe Zero"


def test_feedback_files_are_in_moodles_folders_each_about_one_learner(moodle):
    """Moodle looks for the number after the first underscore, so names may hold none."""
    lines = moodle.worksheet.read_text(encoding="utf-8-sig").splitlines()
    one = lines[1].replace("Ada O'Neil", "Ada_Maria: O'Neil")
    moodle.worksheet.write_text(f"{lines[0]}\n{one}", encoding="utf-8-sig")
    said = moodle.use("export", "--format", "feedback", "--roster", moodle.worksheet)
    assert notes_in(said, "not on the roster, so not in the file: bao@uni.edu, chi@uni.edu")
    (path,) = (moodle.out / "export").glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist()}
    first = f"Ada Maria  O'Neil_12345_assignsubmission_file_/{CH1}.html"
    assert [*pages] == [first]
    assert "bao" not in pages[first].lower() and "ada@uni.edu" in pages[first]


# --- Canvas --------------------------------------------------------------------------------------


def gradebook(term, header: str, *cells: str, possible: str = "39"):
    """Write a gradebook with these cells of ada, bao and chi; return its path."""
    names = zip(SHARES, cells, strict=False)
    lines = [f"{name},{name}1,u{name},{name},1,{cell}" for name, cell in names]
    top = f"Student,ID,SIS User ID,SIS Login ID,Section,{header}"
    return term.write("roster.csv", top, f"    Points Possible,,,,,{possible}", *lines)


def to_canvas(term, path, *options: str) -> list[list[str]]:
    """Export into a gradebook; return its rows."""
    term.said = term.use("export", "--format", "canvas", "--roster", path, *options)
    (found,) = (term.out / "export").glob("canvas*.csv")
    return list(csv.reader(io.StringIO(found.read_text(encoding="utf-8-sig"))))


def canvas_refuses(term, path) -> str:
    """Return what is said about a gradebook into which nothing is exported."""
    said = term.use("export", "--format", "canvas", "--roster", path, refused=True)
    return " ".join(said.split())


def test_split_names_and_two_columns_of_one_title_in_canvas(term):
    """Canvas finds people by their cells, which stay even if they look like formulas."""
    term.put("=SUM(1)", 1.0)
    term.grade()
    top = "LastName,FirstName,ID,SIS Login ID"
    rows = ("    Points Possible,,,", "@Lind,-1 + 1,101,=SUM(1)")
    one = term.write("roster.csv", f"{top},{CH1} (7)", f"{rows[0]},39", f"{rows[1]},")
    header, _, ada = to_canvas(term, one)
    assert header[:2] == ["LastName", "FirstName"]
    assert ada == ["@Lind", "-1 + 1", "101", "=SUM(1)", "39.0"]
    two = f"{top},{CH1} (7),{CH1} (8)", f"{rows[0]},39,39", f"{rows[1]},,"
    path = term.write("roster.csv", *two)
    assert f"{CH1} (7), {CH1} (8); choose with --column" in canvas_refuses(term, path)
    assert to_canvas(term, path, "--column", "8", "--overwrite")[2][-1] == "39.0"


def test_canvas_gets_its_own_columns_and_ids_and_keeps_typed_grades(term):
    for name, share in {"ada": 1.0, "bao": 1.0}.items():
        term.put(name, share)
    term.grade()
    column = f"{CH1} (7001)"
    header, possible, *lines = to_canvas(term, gradebook(term, column, "", "", ""))
    assert header[-1] == column and possible[-1] == "39"
    assert lines[0] == ["ada", "ada1", "uada", "ada", "1", "39.0"]
    assert [line[-1] for line in lines] == ["39.0", "39.0", ""], "chi has no results"
    for cell in ("12", "EX"):
        said = canvas_refuses(term, gradebook(term, column, "", cell, "5"))
        assert f"bao: {column} {cell} (ours: 39.0)" in said and "chi" not in said
    term.put("ada", 0.95)
    term.grade()
    assert "ada 39 → 37.05" in canvas_refuses(term, gradebook(term, column, "39.00", "", ""))
    lines = to_canvas(term, gradebook(term, column, "", "12", ""), "--overwrite")[2:]
    assert [line[-1] for line in lines] == ["37.05", "39.0", ""]
    path = gradebook(term, column, "", "", possible="70")
    _, possible, *lines = to_canvas(term, path, "--overwrite")
    assert possible[-1] == "70" and [line[-1] for line in lines] == ["66.5", "70.0"]
    assert notes_in(term.said, "scaled to 70")
    another = gradebook(term, "Another (7001)", "", possible="70")
    assert to_canvas(term, another, "--overwrite")[0][-1] == CHAPTER.title
    assert notes_in(term.said, "Canvas will create an assignment")
    asked = ("--column", "7001", "--overwrite")
    assert to_canvas(term, another, *asked)[0][-1] == "Another (7001)"
    for options, said in (
        (("--format", "canvas"), "--roster"),
        (("--format", "canvas", "--roster", another, "--column", "Exam"), "no column Exam"),
        (("--column", "Exam"), "--format canvas"),
    ):
        assert said in term.use("export", *options, refused=True)


def test_excused_exercises_count_for_nothing_in_course_systems(term):
    """Half of all but one exercise is half of 35; a learner excused from all has no grade."""
    for name in SHARES:
        term.put(f"{name}@uni.edu", 0.5, text=name)
    excused = f"bao@uni.edu,{NAMES[0]},excused,ill", f"chi@uni.edu,{CH1},excused,ill"
    term.write("overrides.csv", "student,exercise,points,reason", *excused)
    term.grade()
    term.worksheet = downloads.moodle(term.folder / "m.zip", {name: {} for name in SHARES}, {})
    assert [one["Grade"] for one in to_moodle(term)] == ["50.0", "50.0", ""]
    book = downloads.canvas(term.folder / "c.zip", {name: {} for name in SHARES}, set())
    lines = to_canvas(term, book)[2:]
    assert [line[-1] for line in lines] == [f"{MOST / 2:g}", f"{MOST / 2:g}", "EX"]


# --- pages, and what cannot be exported ----------------------------------------------------------


def test_a_learners_page_is_about_that_learner_and_obeys_nothing(term):
    rows = chapter_rows("ada", message="Fine.") + chapter_rows("bao-o-connor", share=0.0)
    for number, text in enumerate(HOSTILE):
        words = text.encode("utf-8", "replace").decode()
        rows.append(row(f"{number} {words}"[:40], message=words, mistakes=[words]))
    names = ["a" * 255, "a" * 254 + "b", "é" * 127, "new\nline", "new_line", "new_line-2", ".."]
    put_rows(term.out, rows + [row(name) for name in names])
    term.use("export", "--format", "pages")
    paths = list((term.out / "export" / "pages").iterdir())
    assert len(paths) == 2 + len(HOSTILE) + len(names) and all(p.stat().st_size for p in paths)
    calm = Page((term.out / "export" / "pages" / "ada.html").read_text())
    assert "connor" not in calm.text and "Fine." in calm.text
    for path in paths:
        page = Page(path.read_text(encoding="utf-8"))
        assert not page.tags & {"script", "link", "img", "iframe", "a", "form", "base"}
        assert page.names <= calm.names and not page.links
    put_rows(term.out, chapter_rows("ada"))
    term.use("export", "--format", "pages")
    assert [p.name for p in (term.out / "export" / "pages").iterdir()] == ["ada.html"]


def test_a_learners_page_has_the_total_the_line_and_a_link_to_the_lesson(term):
    rows = chapter_rows("ada", line=7, status="failed", share=0.5)
    rows += [row("ada", 0, chapter=CH2, exercise=COURSE.chapter(CH2).exercises[0].name)]
    at = "https://uni.edu/lessons.html"
    points, most = (sum(one[name] for one in rows) for name in ("points", "max_points"))
    for notebook, where in ((False, "; line 7;"), (True, "; line 7 of the cell;")):
        put_rows(term.out, [one | ({"notebook": True} if notebook else {}) for one in rows])
        text = term.exported("pages/ada.html", "--format", "pages", "--lessons", at)
        assert where in text and f'<a href="{at}#{NAMES[0]}">lesson</a>' in text
        assert f"{points:g} of {most:g} points" in squeezed(text)
    told = ("--format", "pages", "--lessons", "javascript:x")
    assert "--lessons must be an address" in term.use("export", *told, refused=True)


def test_what_cannot_be_exported_is_one_sentence(term):
    assert "holds no results" in term.use("export", refused=True)
    term.put("ada", 1.0)
    term.put("ada", 1.0, chapter=CH2)
    term.grade()
    for options, said in (
        (("--format", "moodle"), f"--chapter: {CH1}, {CH2}"),
        (("--format", "moodle", "--chapter", CH1), "Moodle's numbers are in its"),
        (("--format", "feedback", "--chapter", CH1), "Moodle's numbers are in its"),
        (("--format", "ods"), "must be one of csv, xlsx, moodle, canvas, pages, feedback"),
        (("--chapter", "ch9"), "no chapter named ch9"),
    ):
        assert said in term.use("export", *options, refused=True)
