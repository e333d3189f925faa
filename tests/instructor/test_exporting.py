"""Exports agree with the report, in the formats of the course systems."""

import csv
import io
import json
import zipfile
from dataclasses import replace

import pytest
from openpyxl import load_workbook

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.exporting import export, in_a_cell
from tensorgrade.instructor.ledger import with_time
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.write_submissions import write
from tensorgrade.lateness import Lateness
from tensorgrade.sources.submitted_files import SubmittedFiles
from tensorgrade.views.csv_cells import in_csv

from ..commands import ROOT, run
from . import downloads
from .runs import grade_by_content, put, put_rows
from .test_report import HOSTILE, Page, hand_in, row

COURSE = load_course(ROOT / "graders")
CH1, CH2 = COURSE.chapters[0].name, COURSE.chapters[1].name
SHARES = {"ada": 1.0, "bao": 0.5, "chi": 0.25}


def table(path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"))))


@pytest.fixture
def moodle(monkeypatch, tmp_path):
    """A class that came through Moodle: the folder of results, and the grading worksheet."""
    files = {login: {f"{CH1}.py": f"{share} ".encode()} for login, share in SHARES.items()}
    worksheet = downloads.moodle(tmp_path / "m.zip", files, {})
    with worksheet.open("a", encoding="utf-8") as file:
        file.write("Participant 99,Zoe Zero,zoe@uni.edu,No submission,,100.00,Yes,-,-,\n")
    roster = read_roster(worksheet)
    write(plan("moodle", tmp_path / "m.zip", COURSE, roster), tmp_path / "in")
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    return tmp_path / "out", roster


@pytest.mark.slow
def test_a_plain_csv_has_the_points_that_count_and_why(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0, 1_800_000_000)
    put(tmp_path / "in", "=1+1", CH1, 0.5)
    rule = Lateness({CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    (path,), _ = export(tmp_path / "out", COURSE, "csv", "plain", Roster())
    header, formula, ada = table(path)
    assert dict(zip(header, ada, strict=True)) == {
        "student": "ada",
        "chapter": CH1,
        "points": "31.2",
        "max_points": "39",
        "penalty": "7.8",
        "late_seconds": "3600.0",
        "submitted": "2027-01-15 08:00:00 UTC",
        "passed": "6",
        "exercises": "6",
    }
    assert formula[0] == "'=1+1"


def test_a_german_worksheet_without_spaces_in_its_identifiers_is_filled_in(moodle):
    out, _ = moodle
    path = out.parent / "worksheet.csv"
    text = path.read_text(encoding="utf-8-sig").replace("Participant ", "Teilnehmer/in")
    path.write_text(text.replace("Identifier,", "ID,"), encoding="utf-8-sig")
    (path,), _ = export(out, COURSE, "csv", "moodle", read_roster(path))
    header, *lines = table(path)
    assert header[0] == "ID" and "Maximum grade" in header
    assert lines[0][0] == "Teilnehmer/in12345" and lines[0][header.index("Grade")] == "100.0"


def test_moodles_own_worksheet_comes_back_filled_in(moodle):
    out, roster = moodle
    (path,), notes = export(out, COURSE, "csv", "moodle", roster)
    header, *lines = table(path)
    assert ",".join(header) == downloads.MOODLE_WORKSHEET
    by_name = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    assert by_name["Participant 12345"]["Grade"] == "100.0", "of the worksheet's 100"
    assert by_name["Participant 12346"]["Grade"] == "50.0"
    assert notes == [
        f"the 39 points of {CH1} are scaled to 100, the maximum grade in the course system"
    ]
    assert by_name["Participant 12346"]["Feedback comments"].count("\n") == 5
    assert by_name["Participant 99"]["Grade"] == "", "nothing is invented"
    given = csv.DictReader(io.StringIO((out.parent / "worksheet.csv").read_text("utf-8-sig")))
    for old in given:
        back, ours = by_name[old["Identifier"]], {"Grade", "Feedback comments"}
        assert all(back[column] == old[column] for column in old.keys() - ours), "as it was"
    assert by_name["Participant 99"]["Last modified (submission)"] == "-"


@pytest.mark.slow
def test_moodles_comment_says_what_was_lost_because_it_came_late(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada_12345", CH1, 1.0, 1_800_000_000)
    rule = Lateness({CH1: "2027-01-15 07:00 UTC"}, share_a_day=0.2)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    (path,), _ = export(tmp_path / "out", COURSE, "csv", "moodle", Roster())
    _, (_, _, comment) = table(path)
    assert comment.endswith("\nSubmitted 1 hour late: 7.8 points deducted (included above).")


def test_who_is_graded_and_on_no_list_is_reported(moodle):
    out, roster = moodle
    assert roster.rows[1]["identifier"] == "Participant 12346"
    listed = replace(roster, rows=roster.rows[::2], raw=roster.raw[::2])
    _, notes = export(out, COURSE, "csv", "moodle", listed)
    assert any(note.startswith("not on the roster, so not in the file: ") for note in notes), notes


@pytest.mark.parametrize(
    "most, grades, told",
    [
        ("39.00", ["39.0", "19.5"], ""),
        ('"70,5"', ["70.5", "35.25"], "scaled to 70.5"),
        ("-", ["39.0", "19.5"], "does not give the course system's maximum grade"),
    ],
)
def test_grades_are_out_of_what_the_worksheet_says(moodle, most, grades, told):
    out, _ = moodle
    worksheet = out.parent / "worksheet.csv"
    worksheet.write_text(worksheet.read_text("utf-8-sig").replace("100.00", most))
    (path,), notes = export(out, COURSE, "csv", "moodle", read_roster(worksheet))
    assert [line[4] for line in table(path)[1:3]] == grades
    assert len(notes) == bool(told) and told in " ".join(notes)


def test_formulas_of_learners_are_none_and_cells_of_others_stay_theirs(moodle):
    out, _ = moodle
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    hostile = [row | {"exercise": "=1+1"} for row in rows if row["student"] == "ada@uni.edu"]
    others = [row for row in rows if row["student"] != "ada@uni.edu"]
    put_rows(out, hostile + others)
    worksheet = out.parent / "worksheet.csv"
    worksheet.write_text(worksheet.read_text("utf-8-sig").replace("Zoe Zero", "-Zoe Zero"))
    (path,), notes = export(out, COURSE, "csv", "moodle", read_roster(worksheet))
    _, ada, *_, zoe = table(path)
    assert ada[-1].startswith("'=1+1: ") and zoe[1] == "-Zoe Zero"
    assert [note for note in notes if note.startswith("1 of the cells that identify learners")]


def test_what_a_learner_wrote_into_moodles_worksheet_is_no_formula(moodle):
    out, _ = moodle
    worksheet = out.parent / "worksheet.csv"
    header, *lines = worksheet.read_text("utf-8-sig").splitlines()
    lines = [f'{line},"=1+1"' for line in lines]
    worksheet.write_text("\n".join([f"{header},Online text", *lines]))
    (path,), _ = export(out, COURSE, "csv", "moodle", read_roster(worksheet))
    assert {line[-1] for line in table(path)[1:]} == {"'=1+1"}


def test_moodle_and_canvas_find_people_by_names_that_look_like_formulas(monkeypatch, tmp_path):
    name = "=HYPERLINK(1)"
    put(tmp_path / "in", name, CH1, 1.0)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    gradebook = tmp_path / "g.csv"
    gradebook.write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,{CH1} (7001)\n"
        f"    Points Possible,,,,,39\n@ada,101,+u101,{name},-1 + 1,\n"
    )
    (path,), notes = export(tmp_path / "out", COURSE, "csv", "canvas", read_roster(gradebook))
    assert table(path)[2][:5] == ["@ada", "101", "+u101", name, "-1 + 1"]
    assert any(note.startswith("4 of the cells that identify learners") for note in notes), notes
    (path,), notes = export(tmp_path / "out", COURSE, "csv", "moodle", Roster())
    assert table(path)[1][0] == name and any(note.startswith("1 of the cells") for note in notes)


@pytest.mark.parametrize("cell", ["=1", "+a", "-a", "@a", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_no_cell_of_our_own_is_a_formula(cell):
    assert list(csv.reader(io.StringIO(in_csv(["a"], [[cell]]), newline=""))) == [
        ["a"],
        [f"'{cell}"],
    ]


@pytest.mark.slow
def test_without_a_worksheet_moodle_finds_people_by_number(monkeypatch, tmp_path):
    put(tmp_path / "in", "Ada Lovelace_12345", CH1, 1.0)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    (path,), notes = export(tmp_path / "out", COURSE, "csv", "moodle", Roster())
    assert len(notes) == 1 and "maximum grade must be 39" in notes[0]
    assert [line[:2] for line in table(path)] == [
        ["Identifier", "Grade"],
        ["Participant 12345", "39.0"],
    ]


def test_feedback_files_lie_in_moodles_folders_each_with_one_learner(moodle):
    out, roster = moodle
    (path,), _ = export(out, COURSE, "html", "moodle", roster)
    with zipfile.ZipFile(path) as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist()}
    first = f"Ada O'Neil_12345_assignsubmission_file_/{CH1}.html"
    assert len(pages) == 3 and first in pages
    assert "bao" not in pages[first].lower() and "ada@uni.edu" in pages[first]


def test_canvas_gets_its_own_columns_and_ids(monkeypatch, tmp_path):
    files = {login: {f"{CH1}.py": f"{share} ".encode()} for login, share in SHARES.items()}
    gradebook = downloads.canvas(tmp_path / "c.zip", files, set())
    text = gradebook.read_text().replace("Homework (7001)", f"{CH1} (7001),Final (2)")
    gradebook.write_text(text)
    roster = read_roster(gradebook)
    write(plan("canvas", tmp_path / "c.zip", COURSE, roster), tmp_path / "in")
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    (path,), _ = export(tmp_path / "out", COURSE, "csv", "canvas", roster)
    assert table(path) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", f"{CH1} (7001)"],
        ["    Points Possible", "", "", "", "", "39"],
        ["O'Neil, Ada", "101", "u101", "ada@uni.edu", "Section 1", "39.0"],
        ["O'Neil, Bao", "102", "u102", "bao@uni.edu", "Section 1", "19.5"],
        ["O'Neil, Chi", "103", "u103", "chi@uni.edu", "Section 1", "9.75"],
    ]
    gradebook.write_text(gradebook.read_text().replace("Possible,,,,,39", "Possible,,,,,70"))
    (path,), notes = export(tmp_path / "out", COURSE, "csv", "canvas", read_roster(gradebook))
    _, possible, *lines = table(path)
    assert possible[-1] == "70" and [line[-1] for line in lines] == ["70.0", "35.0", "17.5"]
    assert [note for note in notes if "39 points" in note and "scaled to 70" in note] == notes
    gradebook.write_text(gradebook.read_text().replace(f"{CH1} (7001)", "Another (7001)"))
    (path,), notes = export(tmp_path / "out", COURSE, "csv", "canvas", read_roster(gradebook))
    title = COURSE.chapters[0].title
    assert table(path)[0][-1] == title
    assert any(f"Canvas will create assignments: {title}; " in note for note in notes)
    with pytest.raises(CourseError, match="give Canvas' own list with --roster"):
        export(tmp_path / "out", COURSE, "csv", "canvas", Roster())
    for name in ("another", "7001"):
        (path,), notes = export(
            tmp_path / "out", COURSE, "csv", "canvas", read_roster(gradebook), column=name
        )
        assert table(path)[0][-1] == "Another (7001)" and table(path)[1][-1] == "70"
        assert not any("create" in note for note in notes)
    with pytest.raises(CourseError, match=r"has no column Exam; it has Another \(7001\), Final"):
        export(tmp_path / "out", COURSE, "csv", "canvas", read_roster(gradebook), column="Exam")
    with pytest.raises(CourseError, match="give --format canvas too"):
        export(tmp_path / "out", COURSE, "csv", "plain", Roster(), column="Exam")


def test_canvas_keeps_a_grade_that_a_person_typed_and_updates_our_own(monkeypatch, tmp_path):
    def graded(**shares):
        for name, share in shares.items():
            put(tmp_path / "in", name, CH1, share)
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")

    def exported(*cells, **options):
        logins = zip(("ada", "bao", "chi"), cells, strict=True)
        lines = [f"{name},{name}1,u{name},{name},1,{cell}" for name, cell in logins]
        header = f"Student,ID,SIS User ID,SIS Login ID,Section,{CH1} (7001)"
        text = "\n".join([header, "    Points Possible,,,,,39", *lines])
        (tmp_path / "g.csv").write_text(f"{text}\n")
        roster = read_roster(tmp_path / "g.csv")
        (path,), notes = export(tmp_path / "out", COURSE, "csv", "canvas", roster, **options)
        kept = [note for note in notes if note.startswith("cells stay")]
        return [line[-1] for line in table(path)[2:]], kept

    graded(ada=1.0, bao=1.0)
    assert exported("", "", "") == (["39.0", "39.0", ""], [])
    grades, (note,) = exported("", "12", "5")
    assert grades == ["39.0", "12", "5"], "chi has no results"
    assert f"--overwrite replaces those that a person filled in. bao: {CH1} (7001) 12 " in note
    assert "chi" not in note
    assert exported("", "12", "", overwrite=True) == (["39.0", "39.0", ""], [])
    graded(ada=0.5)
    grades, notes = exported("39.00", "EX", "")
    assert grades == ["19.5", "EX", ""] and len(notes) == 1, "39.00 is our own cell"


def test_a_learners_page_is_about_them_alone_and_obeys_nothing(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    rows = hand_in("ada", message="Fine.") + hand_in("bao-o-connor", status="failed", share=0.0)
    for number, text in enumerate(HOSTILE):
        words = text.encode("utf-8", "replace").decode()
        rows.append(row(f"{number} {words}"[:40], message=words, mistakes=[words]))
    put_rows(out, rows)
    paths, _ = export(out, COURSE, "html", "plain", Roster())
    assert len(paths) == 2 + len(HOSTILE) and all(p.parent.name == "pages" for p in paths)
    calm = Page((out / "export" / "pages" / "ada.html").read_text())
    assert "connor" not in calm.text and "Fine." in calm.text
    for path in paths:
        page = Page(path.read_text(encoding="utf-8"))
        assert not page.tags & {"script", "link", "img", "iframe", "a", "form", "base"}
        assert page.names <= calm.names and not page.links
    put_rows(out, hand_in("ada"))
    assert len(export(out, COURSE, "html", "plain", Roster())[0]) == 1
    assert [p.name for p in (out / "export" / "pages").iterdir()] == ["ada.html"]


def test_an_excused_chapter_has_no_points_in_the_plain_csv(tmp_path):
    (tmp_path / "out").mkdir()
    put_rows(tmp_path / "out", hand_in("ada", points=0.0, max_points=0.0) + hand_in("bao"))
    (path,), _ = export(tmp_path / "out", COURSE, "csv", "plain", Roster())
    _, ada, bao = table(path)
    assert ada[2:5] == ["", "", ""] and bao[2:5] == ["39.0", "39.0", "0.0"]


def test_annotations_have_a_row_where_a_line_is_known(tmp_path):
    (tmp_path / "out").mkdir()
    rows = [
        row("ada", 0, "failed", 0.0, message="No scale.", line=12),
        row("ada", 1, "error", 0.0, message="It is empty.", line=None),
        row("ada", 2),
        row("ada", 3, "failed", 0.0, message="No scale, line 2.", line=2, notebook=True),
    ]
    put_rows(tmp_path / "out", rows)
    (path,), _ = export(tmp_path / "out", COURSE, "jsonl", "jsonl-annotations", Roster())
    first, second, third = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["command"], first["row"], first["column"], first["text"], first["type"]) == (
        "annotate-code",
        11,
        0,
        "No scale.",
        "error",
    )
    assert (second["command"], second["text"]) == ("append-message", "It is empty.")
    assert (third["command"], third["text"]) == ("append-message", "No scale, line 2.")


def test_everybody_has_a_page_whatever_the_name(tmp_path):
    names = [
        "a" * 255,
        "a" * 254 + "b",
        "é" * 127,
        "new\nline",
        "new_line",
        "new_line-2",
        "..",
        "\udcff",
    ]
    rows = [row(name) for name in names]
    (tmp_path / "out").mkdir()
    put_rows(tmp_path / "out", rows)
    paths, _ = export(tmp_path / "out", COURSE, "html", "plain", Roster())
    assert len({*paths}) == len(names) and all(path.stat().st_size for path in paths)


@pytest.mark.slow
def test_what_cannot_be_exported_is_a_sentence(monkeypatch, tmp_path):
    with pytest.raises(CourseError, match="holds no results"):
        export(tmp_path, COURSE, "csv", "plain", Roster())
    put(tmp_path / "in", "ada", CH1, 1.0)
    put(tmp_path / "in", "ada", CH2, 1.0)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    with pytest.raises(
        CourseError, match=f"choose one of several chapters with --chapter: {CH1}, {CH2}"
    ):
        export(tmp_path / "out", COURSE, "csv", "moodle", Roster())
    with pytest.raises(CourseError, match="no learner has a Moodle number"):
        export(tmp_path / "out", COURSE, "html", "moodle", Roster(), CH1)
    with pytest.raises(CourseError, match="there is no export --to ods --format plain, but --to"):
        export(tmp_path / "out", COURSE, "ods", "plain", Roster())
    with pytest.raises(CourseError, match="there is no export --to html --format jsonl-anno"):
        export(tmp_path / "out", COURSE, "html", "jsonl-annotations", Roster())
    with pytest.raises(CourseError, match="there is no chapter named ch9"):
        export(tmp_path / "out", COURSE, "csv", "plain", Roster(), "ch9")


@pytest.mark.slow
def test_a_workbook_holds_points_as_numbers_and_what_learners_wrote_as_text(monkeypatch, tmp_path):
    put(tmp_path / "in", "=1+1 José", CH1, 1.0)
    put(tmp_path / "in", "ada", CH1, 0.5)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    (path,), _ = export(tmp_path / "out", COURSE, "xlsx", "plain", Roster())
    book = load_workbook(path)
    (plain,), _ = export(tmp_path / "out", COURSE, "csv", "plain", Roster())
    header, first, second = book["grades"].iter_rows(values_only=True)
    assert [",".join(header)] == plain.read_text(encoding="utf-8").splitlines()[:1]
    assert (first[0], second[0]) == ("=1+1 José", "ada") and first[2] == 2 * second[2] > 0
    assert book["grades"]["A2"].data_type == "s", "nothing is worked out"
    assert book["exercises"].max_row == 1 + 2 * len(COURSE.chapter(CH1).exercises)


@pytest.mark.slow
def test_a_sheet_has_one_line_for_each_learner_with_name_total_and_filters(monkeypatch, tmp_path):
    for name, share in {"ada": 1.0, "bao": 0.5}.items():
        put(tmp_path / "in", name, CH1, share)
    put(tmp_path / "in", "ada", CH2, 0.5)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    (tmp_path / "r.csv").write_text("Full name,Username,Section\nAda O'Neil,ada,Lab 1\n")
    roster = read_roster(tmp_path / "r.csv")
    (path,), _ = export(tmp_path / "out", COURSE, "xlsx", "plain", roster)
    sheet = load_workbook(path)["class"]
    _, ada, bao = sheet.iter_rows(values_only=True)
    one, two = (chapter.points for chapter in COURSE.chapters[:2])
    assert ada[:8] == ("ada", "Ada O'Neil", "Lab 1", one, two / 2, one + two / 2, one + two, ada[7])
    assert bao[:5] == ("bao", None, None, one / 2, 0) and sheet.auto_filter.ref == "A1:I3"


def test_what_no_cell_may_hold_is_shown_with_a_mark():
    assert in_a_cell("a\x00b\ud800") == "a�b�" and in_a_cell(["one", "two"]) == "one, two"


@pytest.mark.slow
def test_rows_say_that_a_notebook_was_graded_and_no_script():
    script, notebook = (SubmittedFiles("ada", CH1, f"{CH1}.{kind}") for kind in ("py", "ipynb"))
    assert "notebook" not in with_time({"notebook": True}, script)
    assert with_time({}, notebook)["notebook"] is True
    assert "notebook" not in with_time({}, replace(notebook, script=b"x = 1"))


def test_the_command_says_what_it_wrote(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    done = run("tensorgrade.cli", "export", tmp_path / "out", "--to", "csv")
    assert done.stdout.strip() == str(tmp_path / "out" / "export" / "grades.csv"), done.stderr
    done = run("tensorgrade.cli", "export", tmp_path / "out", "--format", "jsonl-annotations")
    assert done.stdout.strip().endswith("annotations.jsonl"), done.stderr
    done = run(
        "tensorgrade.cli", "export", tmp_path / "out", "--to", "html", "--format",
        "jsonl-annotations",
    )  # fmt: skip
    assert done.returncode == 2 and "no export --to html --format jsonl-annotations" in done.stderr
    done = run("tensorgrade.cli", "export", tmp_path / "out", "--format", "moodle")
    assert "note: grades are points out of 39" in done.stdout, done.stderr


def test_a_learners_page_has_the_total_the_line_and_a_link_to_the_lesson(tmp_path):
    rows = hand_in("ada", line=7, status="failed", share=0.5)
    rows += [row("ada", 0, chapter=CH2, exercise=COURSE.chapter(CH2).exercises[0].name)]
    put_rows(tmp_path, rows)
    at = "https://uni.edu/lessons.html"
    (path,), _ = export(tmp_path, COURSE, "html", "plain", Roster(), lessons=at)
    text = path.read_text()
    points, most = (sum(one[name] for one in rows) for name in ("points", "max_points"))
    assert f"All chapters so far: {points:g} of {most:g} points." in text
    assert "; line 7;" in text
    assert f'<a href="{at}#{rows[0]["exercise"]}">lesson</a>' in text
    put_rows(tmp_path, [one | {"notebook": True} for one in rows])
    (path,), _ = export(tmp_path, COURSE, "html", "plain", Roster(), lessons=at)
    assert "; line 7 of the cell;" in path.read_text()
    with pytest.raises(CourseError, match="--lessons must be an address"):
        export(tmp_path, COURSE, "html", "plain", Roster(), lessons="javascript:x")
