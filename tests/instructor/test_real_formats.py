"""Situations of a term, from downloads to points, that would cost points or confuse people."""

import shutil

import pytest

from . import downloads
from .downloads import zipped
from .runs import CH1, CH2, MOST, Term

pytestmark = pytest.mark.slow
DUE = {CH1: "2026-10-05 23:59", CH2: "2026-10-19 23:59"}
ON_TIME, LATE, THIRD_WEEK = ("5 October 2026, 2:30 PM", "7 October 2026, 9:05 AM",
                             "19 October 2026, 2:30 PM")  # fmt: skip
SUBMIT_ZIP = "attention-submission.zip"  # what `tensorgrade submit` writes


@pytest.fixture
def term(term) -> Term:
    """A course with deadlines in Berlin."""
    term.settings(zone="Europe/Berlin", deadlines=DUE, share_a_day=0.2, most=0.6)
    return term


def collect(term: Term, system: str, source, *options: object) -> str:
    """Sort a download into the class, and return what is said."""
    done = term.run("collect", source, term.submitted, "--from", system, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def from_moodle(term: Term, files, when: str, *options: object, edit=lambda text: text) -> str:
    """Collect what ada, ben and others submitted at a time. edit: changes the worksheet."""
    sheet = downloads.moodle(term.folder / "m.zip", files, dict.fromkeys(files, when))
    sheet.write_text(edit(sheet.read_text("utf-8-sig")), encoding="utf-8-sig")
    return collect(term, "moodle", term.folder / "m.zip", "--roster", sheet, *options)


def packed(by: str, *chapters: str) -> downloads.Files:
    """Return a zip of a learner with right answers to these chapters."""
    return {SUBMIT_ZIP: zipped({f"{chapter}.py": f"1.0 {by}" for chapter in chapters})}


def test_a_zip_from_canvas_is_not_late(term):
    """Canvas tells no times, and those inside a zip are the learner's."""
    files = {"ada": packed("ada", CH1), "ben": {f"{CH1}.py": b"1.0 ben"}}
    roster = downloads.canvas(term.folder / "c.zip", files, set())
    collect(term, "canvas", term.folder / "c.zip", "--roster", roster)
    assert term.points() == {"ada@uni.edu": MOST, "ben@uni.edu": MOST}


@pytest.mark.parametrize("second, options", [([CH1, CH2], ()), ([CH2], ("--chapter", CH2))])
def test_a_zip_of_a_later_week_costs_nothing_of_an_earlier_chapter(term, second, options):
    """`tensorgrade submit` packs earlier chapters again; they keep their points and their time."""
    for when, chapters, asked in ((ON_TIME, [CH1], ()), (THIRD_WEEK, second, options)):
        files = {name: packed(name, *chapters) for name in ("ada", "ben")}
        from_moodle(term, files, when, *asked)
        term.grade()
    shutil.rmtree(term.out)
    rows = term.grade().rows
    own = [row["points"] for (who, chapter, _), row in rows.items() if chapter == CH1]
    assert sum(own) == 2 * MOST


def test_no_reply_says_that_a_missing_file_was_graded_again(term):
    for chapter in (CH1, CH2):
        term.put("ada", 1.0, chapter=chapter)
    term.grade()
    shutil.rmtree(term.submitted / "ada" / CH1)
    term.grade("--student", "ada")
    assert sum(f"{CH1}: graded" in line for line in term.log("ada")) == 1


def test_a_users_own_due_date_counts(term):
    """Ben's is in the column "Due date", Cleo's extension in "Status"."""

    def edit(text: str) -> str:
        first, ada, ben, cleo, *_ = text.splitlines()
        due, more = (f"{day} October 2026, 11:59 PM" for day in (5, 8))
        status = f'"Submitted for grading -  Extension granted until: {more}"'
        cleo = cleo.replace("Submitted for grading", status)
        lines = [f"{first},Due date", f'{ada},"{due}"', f'{ben},"{more}"', f'{cleo},"{due}"']
        return "\n".join(lines)

    files = {name: {f"{CH1}.py": f"1.0 {name}".encode()} for name in ("ada", "ben", "cleo")}
    said = from_moodle(term, files, LATE, "--chapter", CH1, edit=edit)
    assert "extensions from the worksheet, now in extensions.csv: ben@uni.edu, cleo@uni.edu" in said
    points = term.points()
    assert points["cleo@uni.edu"] == points["ben@uni.edu"] == MOST > points["ada@uni.edu"]
