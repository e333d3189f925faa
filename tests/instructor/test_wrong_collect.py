"""What `collect` refuses, sets aside or asks about, instead of guessing."""

import io
import zipfile
from dataclasses import replace

import pytest

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.roster import read_roster
from tensorgrade.instructor.write_submissions import write
from tensorgrade.lateness import Lateness, in_zone

from ..commands import ROOT, run
from . import downloads
from .runs import grade_by_content

COURSE = load_course(ROOT / "graders")
CH1, CH2, CH3 = (chapter.name for chapter in COURSE.chapters[:3])
GERMAN = (
    "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,"
    "Bewertung kann geändert werden,Zuletzt geändert (Abgabe),"
    "Zuletzt geändert (Bewertung),Feedback als Kommentar"
)
FRENCH = (
    "Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale,"
    "La note peut être modifiée,Dernière modification (travail remis),"
    "Dernière modification (note),Feedback par commentaires"
)


def collected(tmp_path, files, when=None, header="", word="Participant", course=COURSE, **options):
    """Collect a class's files from Moodle; returns the plan."""
    sheet = downloads.moodle(tmp_path / "m.zip", files, when or {})
    text = sheet.read_text("utf-8-sig").replace("Participant", word).replace("* ", "")
    if header:
        text = text.replace(downloads.MOODLE_WORKSHEET, header)
    sheet.write_text(text, encoding="utf-8-sig")
    roster = read_roster(sheet, "moodle")
    found = plan("moodle", tmp_path / "m.zip", course, roster, **options)
    write(found, tmp_path / "in")
    return found


def in_course(zone: str = "Europe/Berlin", **lateness):
    return replace(COURSE, lateness=Lateness(zone=zone, **lateness))


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in names:
            archive.writestr(name, "0.25")
    return content.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name, content", [(f"{CH2}.py", b"0.25"), ("my.zip", zipped(f"{CH2}.py"))])
def test_a_file_of_another_chapter_is_set_aside_and_replaces_nothing(
    monkeypatch, tmp_path, name, content
):
    collected(tmp_path, {"ada": {f"{CH2}.py": b"1.0"}})
    before, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    found = collected(tmp_path, {"ada": {name: content}}, chapter=CH3)
    assert f"belongs to {CH2} by its name, and not to {CH3}" in found.lost[0]
    assert (tmp_path / "in" / "ada@uni.edu" / CH3 / ".set_aside" / name).read_bytes() == content
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert [row for row in rows if row["chapter"] == CH2] == before


def test_of_a_zip_with_all_chapters_only_the_collected_one_counts(monkeypatch, tmp_path):
    """Learners zip their whole folder; the stubs in it must not replace what they submitted."""
    collected(tmp_path, {"ada": {f"{CH2}.py": b"1.0"}})
    before, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    whole = zipped(f"exercises/{CH2}.py", f"exercises/{CH3}.py", "exercises/notes.txt")
    found = collected(tmp_path, {"ada": {"all.zip": whole}}, chapter=CH3)
    assert not found.lost and any(f"all.zip holds {CH2}, left out" in note for note in found.notes)
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert [row for row in rows if row["chapter"] == CH2] == before
    assert {row["points"] / row["max_points"] for row in rows if row["chapter"] == CH3} == {0.25}


def test_a_file_set_aside_is_exit_status_1(tmp_path):
    sheet = downloads.moodle(tmp_path / "m.zip", {"ada": {f"{CH2}.py": b"1.0"}}, {})
    options = ("--from", "moodle", "--roster", sheet, "--chapter", CH3)
    done = run("tensorgrade.cli", "collect", tmp_path / "m.zip", tmp_path / "in", *options)
    assert done.returncode == 1 and "It is set aside" in done.stdout


def test_a_repository_may_hold_all_chapters_and_only_one_is_collected(tmp_path):
    files = {f"{CH2}.py": b"1.0", f"{CH3}.py": b"1.0"}
    source = downloads.git(tmp_path / "r", {"ada": files, "bao": files})
    found = plan("git", source, COURSE, read_roster(None), CH3)
    assert [place.chapter for place in found.places] == [CH3, CH3] and not found.lost
    assert f"2 files of other chapters than {CH3}" in found.left_out


WHEN = {"ada": "Friday, 15 January 2027, 11:59 PM"}
FILES = {"ada": {f"{CH1}.py": b"1.0"}}


def test_dates_without_a_known_zone_are_refused_and_the_courses_own_is_taken(tmp_path):
    with pytest.raises(CourseError, match="time zone of the worksheet's dates is not known"):
        collected(tmp_path, FILES, WHEN)
    (place,) = collected(tmp_path, FILES, WHEN, course=in_course()).places
    assert place.submitted.time == "2027-01-15 22:59:00 UTC"
    (place,) = collected(tmp_path, FILES, WHEN, course=in_course(), zone="UTC").places
    assert place.submitted.time == "2027-01-15 23:59:00 UTC"
    with pytest.raises(CourseError, match="--zone: there is no time zone Mars/Base"):
        collected(tmp_path, FILES, WHEN, zone="Mars/Base")


def test_unknown_times_are_reported_if_there_are_deadlines(tmp_path):
    sheet = downloads.moodle(tmp_path / "m.zip", {**FILES, "bao": FILES["ada"]}, WHEN)

    def notes(course, roster=None):
        found = plan("moodle", tmp_path / "m.zip", course, read_roster(roster))
        return [note for note in found.notes if "submission times" in note]

    course = in_course(deadlines={CH1: "2027-01-15 23:59"})
    assert notes(course) == [
        "the submission times of 2 files are unknown, so they will not be late; give Moodle's "
        "grading worksheet with --roster"
    ]
    (note,) = notes(course, sheet)
    assert "times of 1 file are unknown" in note and "write it into timestamp.txt" in note
    assert notes(in_course()) == notes(in_course(deadlines={CH2: "2027-01-15 23:59"})) == []


def test_a_deadline_has_the_courses_zone_or_is_refused():
    due = {CH1: "2027-01-15 23:59"}
    assert Lateness(due, zone="Europe/Berlin").deadlines[CH1] == "2027-01-15 23:59 Europe/Berlin"
    (why,) = Lateness(due).complaints([CH1])
    assert "names no time zone" in why and 'Lateness(zone="Europe/Berlin") in course_config' in why
    assert Lateness(zone="Mars/Base").complaints([]) == ["there is no time zone Mars/Base"]
    assert Lateness(due, zone="America/New_York").complaints([CH1]) == []


def test_the_hours_around_a_change_of_clocks_are_refused_or_explained(tmp_path):
    for time, why in (("2027-03-28 02:30", "does not exist"), ("2027-10-31 02:30", "twice")):
        assert why in Lateness({CH1: time}, zone="Europe/Berlin").complaints([CH1])[0]
    assert Lateness({CH1: "2027-10-31 02:30 +02:00"}).complaints([CH1]) == []
    twice = {"ada": "Sunday, 31 October 2027, 2:30 AM"}
    found = collected(tmp_path, FILES, twice, course=in_course())
    assert found.places[0].submitted.time == "2027-10-31 00:30:00 UTC", "in the learner's favour"
    assert any("an hour happens twice" in note for note in found.notes)
    skipped = {"ada": "Sunday, 28 March 2027, 2:30 AM"}
    with pytest.raises(CourseError, match=r"does not exist in Europe/Berlin.*as --zone"):
        collected(tmp_path, FILES, skipped, course=in_course())


def test_times_are_shown_by_the_courses_clocks():
    assert in_zone("2027-07-15 08:00:00 UTC", "Europe/Berlin").startswith("2027-07-15 10:00:00 E")
    assert in_zone("2027-07-15 08:00:00 UTC", "") == "2027-07-15 08:00:00 UTC"
    assert in_zone(None, "Europe/Berlin") == ""


@pytest.mark.parametrize(
    "header, word, when",
    [
        (GERMAN, "Teilnehmer/in", "Freitag, 15. Januar 2027, 23:59"),
        (GERMAN, "Teilnehmer/in*", "Freitag, 15. Januar 2027, 23:59"),  # without a space
        (FRENCH, "Participant*", "vendredi 15 janvier 2027, 23:59"),
        (FRENCH, "Participant", "vendredi 15 janvier 2027, 23:59"),
        ("", "Participant", "viernes, 15 de enero de 2027, 23:59"),
        ("", "Participant", "January 15, 2027, 11:59 PM"),
        ("", "Participant", "1/15/2027, 11:59 PM"),
        ("", "Participant", "15.01.2027 23:59"),
        ("", "Participant", "2027-01-15 23:59"),
    ],
)
def test_worksheets_in_common_languages_are_understood(tmp_path, header, word, when):
    (place,) = collected(
        tmp_path, FILES, {"ada": when}, header, word, course=in_course("UTC")
    ).places
    assert place.submitted.time == "2027-01-15 23:59:00 UTC"
    assert place.folder == "ada@uni.edu", "who is known by the worksheet"


def test_logins_are_no_identifiers_of_participants(tmp_path):
    (tmp_path / "r.csv").write_text("username,grade\ns12,1\ns13,2\n")
    assert read_roster(tmp_path / "r.csv").column == "username"


def test_day_and_month_are_distinguished_by_the_whole_column_or_asked_for(tmp_path):
    files = {"ada": {f"{CH1}.py": b"1"}, "bao": {f"{CH1}.py": b"2"}}
    early = {"ada": "1/2/2027, 11:59 PM", "bao": "1/3/2027, 11:59 PM"}
    with pytest.raises(CourseError, match=r"1/2/2027, may have the day first.*--date-order"):
        collected(tmp_path, files, early, course=in_course("UTC"))
    found = collected(tmp_path, files, early, course=in_course("UTC"), date_order="dmy")
    assert found.places[0].submitted.time == "2027-02-01 23:59:00 UTC"
    clear = early | {"bao": "1/13/2027, 11:59 PM"}
    found = collected(tmp_path, files, clear, course=in_course("UTC"))
    assert found.places[0].submitted.time == "2027-01-02 23:59:00 UTC"
    with pytest.raises(CourseError, match=r"--date-order is dmy, but .* 1/13/2027"):
        collected(tmp_path, files, clear, course=in_course("UTC"), date_order="dmy")


def test_what_is_not_understood_is_refused_with_the_columns(tmp_path):
    with pytest.raises(CourseError, match=r"'Last modified.*' is not understood: 'gestern'"):
        collected(tmp_path, FILES, {"ada": "gestern"}, course=in_course())
    klingon = downloads.MOODLE_WORKSHEET.replace("Last modified (submission)", "choHlu'")
    with pytest.raises(CourseError, match=r"no column with submission times.*choHlu'"):
        collected(
            tmp_path, FILES, WHEN, klingon, course=in_course(deadlines={CH1: "2027-01-15 23:59"})
        )


def test_a_roster_on_which_nobody_is_found_is_refused(tmp_path):
    collected(tmp_path, FILES | {"bao": {f"{CH1}.py": b"1"}})
    (tmp_path / "other.csv").write_text("Identifier,Email address\nParticipant 7,zoe@x.org\n")
    roster = read_roster(tmp_path / "other.csv", "moodle")
    with pytest.raises(CourseError, match=r"none of the 2 learners .* Participant 7"):
        plan("moodle", tmp_path / "m.zip", COURSE, roster)
    (tmp_path / "names.csv").write_text("Name,E-Mail\nAda,ada@x.org\n")
    with pytest.raises(CourseError, match=r"columns .*it has Name, E-Mail"):
        read_roster(tmp_path / "names.csv", "moodle")
