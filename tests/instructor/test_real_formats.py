"""Situations of a term, in the forms in which course systems really give out submissions.

Each would cost learners points or address the wrong person.
"""

import csv
import shutil
import zipfile
from datetime import datetime

import pytest

from .real_formats import (
    CH1,
    CH2,
    FIRST_WEEK,
    MOST,
    SUBMIT_ZIP,
    THIRD_WEEK,
    TWO_DAYS_LATE,
    Person,
    Term,
    answer,
    canvas_gradebook,
    canvas_zip,
    gradescope_export,
    moodle_date,
    moodle_zip,
    people,
    worksheet,
    zipped,
)

pytestmark = pytest.mark.slow
ON_TIME = "2026-10-05 12:00 Europe/Berlin"


@pytest.fixture
def term(tmp_path, monkeypatch) -> Term:
    return Term(tmp_path / "term", monkeypatch)


def uploads(persons: list[Person], file: str = f"{CH1}.py", *chapters: str) -> list:
    """Return Moodle's entries: each person's file of a chapter, or a zip with these chapters."""
    found = []
    for one in persons:
        texts = {f"{name}.py": answer(f"{one.name}, {name}") for name in chapters or (CH1,)}
        content = zipped(texts) if file == SUBMIT_ZIP else texts[file]
        found.append((one.name, one.number, {file: content}))
    return found


def test_the_number_of_a_group_is_not_that_of_a_participant(term, tmp_path):
    """Moodle names a group's folder by the group's number, here that of another group's Cleo."""
    persons = people(4101, "Ada Lind", "Ben Okoro", "Cleo Marsh", "Dan Vogel")
    for one, group in zip(persons, ("Falcons", "Falcons", "Owls", "Owls"), strict=True):
        one.cells["Group"] = group
    roster = worksheet(tmp_path / "worksheet.csv", persons)
    files = [("Falcons", 4103, {f"{CH1}.py": answer()})]
    files += [("Owls", 88, {f"{CH1}.py": answer(worse=True)})]
    download = moodle_zip(tmp_path / "moodle.zip", files)
    refused, _ = term.collect(download, "moodle", roster, "--chapter", CH1)
    if not refused:
        term.grade("--roster", roster)
        found = term.found()
        assert found["ada", CH1] == found["ben", CH1] == MOST
        assert found["cleo", CH1] == found["dan", CH1] == MOST - 10


def test_canvas_keeps_underscores_of_a_name(term, tmp_path):
    """The file counts, or `collect` ends with 1 and names it."""
    ada, ben = Person("Ada", "van_Dijk", 101), Person("Ben", "Okoro", 102)
    roster = canvas_gradebook(tmp_path / "gradebook.csv", [ada, ben])
    files = [(one, f"{CH1}.py", answer(by=one.name)) for one in (ada, ben)]
    download = canvas_zip(tmp_path / "canvas.zip", files)
    status, said = term.collect(download, "canvas", roster)
    term.grade("--roster", roster)
    points = term.found()["ada", CH1]
    assert points == MOST or (status == 1 and "van_dijk" in said)


def test_a_zip_from_canvas_is_not_late(term, tmp_path):
    """Canvas tells no times, and those inside a zip are the learner's."""
    ada, ben = people(101, "Ada Lind", "Ben Okoro")
    roster = canvas_gradebook(tmp_path / "gradebook.csv", [ada, ben])
    files = [(ada, SUBMIT_ZIP, zipped({f"{CH1}.py": answer()})), (ben, f"{CH1}.py", answer(by="b"))]
    term.collect(canvas_zip(tmp_path / "canvas.zip", files), "canvas", roster)
    term.grade("--roster", roster)
    found = term.found()
    assert (found["ada", CH1], found["ben", CH1]) == (MOST, MOST)


def two_weeks(term: Term, tmp_path, *chapters: list[str], only: bool = False) -> None:
    """Collect and grade a zip with these chapters of two learners for each of two deadlines.

    only: ask for the last chapter alone.
    """
    weeks = zip((4100, 5200), (FIRST_WEEK, THIRD_WEEK), chapters, strict=True)
    for number, when, packed in weeks:
        persons = people(number, "Ada Lind", "Ben Okoro", when=when)
        roster = worksheet(tmp_path / f"{number}.csv", persons)
        download = moodle_zip(tmp_path / f"{number}.zip", uploads(persons, SUBMIT_ZIP, *packed))
        asked = ("--chapter", packed[-1]) if only else ()
        assert term.collect(download, "moodle", roster, *asked)[0] == 0
        term.grade("--roster", roster)


def test_an_unchanged_chapter_in_a_later_zip_is_not_late(term, tmp_path):
    """`tensorgrade submit` packs earlier chapters again; they keep their points and their time."""
    two_weeks(term, tmp_path, [CH1], [CH1, CH2])
    assert term.found()["ada", CH1] == MOST


def test_a_later_zip_leaves_earlier_chapters_where_they_are(term, tmp_path):
    """Collecting chapter 2 does not take chapter 1's file away."""
    two_weeks(term, tmp_path, [CH1], [CH2], only=True)
    shutil.rmtree(term.out)
    term.grade()
    assert term.found().get(("ada", CH1)) == MOST


def test_no_reply_says_that_a_missing_file_was_graded_again(term):
    for chapter in (CH1, CH2):
        term.submit("ada", ON_TIME, answer(by=chapter), chapter)
    term.grade()
    shutil.rmtree(term.submitted / "ada" / CH1)
    told = ("--isolation", "none", "--student", "ada")
    assert term.run("grade", term.submitted, "--out", term.out, *told).returncode == 0
    assert sum(f"{CH1}: graded" in line for line in term.log("ada")) == 1


def test_a_new_column_of_the_worksheet_makes_no_new_learners(term, tmp_path):
    """In mid-term Moodle also shows user names. Nobody loses chapter 1, or collect refuses."""
    persons = people(4100, "Ada Lind", "Ben Okoro")
    roster = worksheet(tmp_path / "first.csv", persons)
    download = moodle_zip(tmp_path / "first.zip", uploads(persons))
    assert term.collect(download, "moodle", roster, "--chapter", CH1)[0] == 0
    term.grade("--roster", roster)
    both = ("Username", "Email address")
    later = people(5200, "Ada Lind", "Ben Okoro", when=THIRD_WEEK)
    for at, one in enumerate(persons + later):
        one.login = f"u{at % 2}"
    roster = worksheet(tmp_path / "later.csv", later, both)
    download = moodle_zip(tmp_path / "later.zip", uploads(later, f"{CH2}.py", CH2))
    refused, _ = term.collect(download, "moodle", roster, "--chapter", CH2)
    if refused:
        return
    term.grade("--roster", roster)
    assert len({who for who, _ in term.found()}) == 2
    for one in persons:
        one.cells["Grade"] = "100.00"  # from the first export
    roster = worksheet(tmp_path / "first.csv", persons, both)
    asked = ("--format", "moodle", "--roster", roster, "--chapter", CH1)
    if not term.run("export", term.out, *asked).returncode:
        with (term.out / "export" / f"moodle-{CH1}.csv").open(encoding="utf-8-sig") as file:
            assert [float(row["Grade"]) for row in csv.DictReader(file)] == [100, 100]


def test_a_users_own_due_date_counts(term, tmp_path):
    """Ben's is in the column "Due date", Cleo's extension in "Status"."""
    persons = people(4100, "Ada Lind", "Ben Okoro", "Cleo Marsh")
    due, more = (moodle_date(datetime(2026, 10, day, 23, 59)) for day in (5, 8))
    for one in persons:
        one.cells |= {"Allow submissions from": "-", "Due date": due, "Cut-off date": "-"}
    _, ben, cleo = persons
    ben.when = cleo.when = TWO_DAYS_LATE
    ben.cells["Due date"] = more
    cleo.cells["Status"] = f"Submitted for grading -  Extension granted until: {more}"
    roster = worksheet(tmp_path / "worksheet.csv", persons)
    download = moodle_zip(tmp_path / "moodle.zip", uploads(persons))
    _, said = term.collect(download, "moodle", roster, "--chapter", CH1)
    assert "extensions in extensions.csv: ben@uni.edu, cleo@uni.edu" in said
    term.grade()
    found = term.found()
    assert found["cleo", CH1] == found["ben", CH1] == MOST


def test_moodle_finds_the_number_in_each_feedback_folder(term, tmp_path):
    """It looks after the first underscore, so that names may hold none."""
    persons = people(4100, "Ada_Maria Lind", "Ben Okoro", "Cleo: Marsh")
    for at, one in enumerate(persons):
        one.email = f"l{at}@uni.edu"
    roster = worksheet(tmp_path / "worksheet.csv", persons)
    download = moodle_zip(tmp_path / "moodle.zip", uploads(persons))
    term.collect(download, "moodle", roster, "--chapter", CH1)
    term.grade()
    term.use("export", "--format", "feedback", "--roster", roster)
    names = zipfile.ZipFile(term.out / "export" / f"moodle-feedback-{CH1}.zip").namelist()
    assert {name.split("_")[1] for name in names} == {"4100", "4101", "4102"}


def test_a_setting_of_nbgrader_drops_no_attempt(term):
    """With attempts="best" a better earlier file counts, whatever database nbgrader uses."""
    term.settings(attempts="best")
    for day, worse in ((4, False), (5, True)):
        term.submit("ada", f"2026-10-0{day} 12:00 Europe/Berlin", answer(worse=worse))
        term.grade()
    assert term.found()["ada", CH1] == MOST
    with (term.course / "course_config.py").open("a", encoding="utf-8") as config:
        config.write("    c.CourseDirectory.db_url = 'sqlite:///gradebook.db'\n")
    term.grade()
    assert term.found()["ada", CH1] == MOST


def test_a_login_with_a_number_is_no_participant_of_moodle(term):
    """Nobody came from Moodle, so that no row of its file may be somebody else's."""
    for name in ("student_4100", "student_4101"):
        term.submit(name, ON_TIME, answer(by=name))
    term.grade()
    term.use("export", "--format", "moodle")
    for file in (term.out / "export").glob("moodle-*.csv"):
        assert "Participant" not in file.read_text(encoding="utf-8-sig")


def test_a_learner_may_be_called_like_one_of_our_files(term, tmp_path):
    """On Gradescope learners choose their own id."""
    both = [Person("Ada", "Lind", 1), Person("Eve", "Okoro", 2, login="teams.csv")]
    entries = [
        ([one], "2026-10-01 10:00:00.0 Z", {f"{CH1}.py": answer(by=one.name)}) for one in both
    ]
    source = gradescope_export(tmp_path / "assignment_1_export", entries)
    done = term.run("collect", source, term.submitted, "--from", "gradescope")
    assert done.returncode == 0, done.stderr
    term.grade()
    assert sorted(term.found().values()) == [MOST, MOST]
