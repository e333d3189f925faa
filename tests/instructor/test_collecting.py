"""Collect a class from Moodle, Canvas, Gradescope or git hosts."""

import io
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import layouts
from tensorgrade.instructor.collecting import PlannedFile, plan, some_of, table
from tensorgrade.instructor.downloads import Entry
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.write_submissions import (
    keep_older,
    notes_on_nbgrader,
    notes_on_second_folders,
    write,
)
from tensorgrade.sources.finding import find_submissions
from tensorgrade.sources.submitted_files import submission_time

from ..commands import ROOT, run
from . import downloads
from .runs import grade_by_content

COURSE = load_course(ROOT / "graders")
CH1, CH2 = COURSE.chapters[0].name, COURSE.chapters[1].name
LOGINS = ["ada", "bao", "chi", "dan", "eve"]
FILES = {
    "ada": {f"{CH1}.py": b"1.0 "},
    "bao": {f"{CH1}.py": b"0.5 ", "notes.txt": b"hello"},
    "chi": {f"{CH1} (1).py": b"0.25 "},
    "dan": {f"{CH1}.py": b"0.75 dan"},
    "eve": {"my homework.py": b"0.125 "},
}
POINTS = {"ada": 1.0, "bao": 0.5, "chi": 0.25, "dan": 0.75, "eve": 0.125}


def collected(layout: str, folder: Path) -> tuple[Path, Roster]:
    """The class in one of the four forms, and a roster where the system has one."""
    source = folder / f"{layout}.zip"
    if layout == "moodle":
        return source, read_roster(downloads.moodle(source, FILES, {}))
    if layout == "canvas":
        return source, read_roster(downloads.canvas(source, FILES, {"bao"}))
    if layout == "gradescope":
        return downloads.gradescope(folder / "g", FILES, {}), Roster()
    return downloads.git(folder / "r", FILES), Roster()


@pytest.mark.slow
@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_the_same_class_has_the_same_points_in_every_layout(monkeypatch, tmp_path, layout):
    source, roster = collected(layout, tmp_path)
    found = plan(layout, source, COURSE, roster, chapter=CH1)
    assert write(found, tmp_path / "in") == []
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    got = {row["student"]: row["points"] / row["max_points"] for row in rows}
    expected = POINTS
    if layout in ("moodle", "canvas"):
        expected = {f"{name}@uni.edu": share for name, share in POINTS.items()}
    if layout == "gradescope":
        expected = {str(n): POINTS[name] for n, name in enumerate(LOGINS, 77)}
    assert got == expected
    assert any("notes.txt" in path for path in found.left_out)


@pytest.mark.parametrize("layout", ["moodle", "canvas"])
def test_without_a_roster_everybody_has_the_systems_name_and_number(tmp_path, layout):
    source, _ = collected(layout, tmp_path)
    names = [place.folder for place in plan(layout, source, COURSE, Roster()).places]
    first = {"moodle": "Ada O'Neil_12345", "canvas": "oneilada_101"}[layout]
    assert len(set(names)) == 4 and first in names, "eve's file says no chapter"


def test_files_beside_each_other_are_moodles_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr(f"Ada Lovelace_12_assignsubmission_file_{CH1}.py", "x = 1")
    (place,) = plan("moodle", tmp_path / "m.zip", COURSE, Roster()).places
    assert place.path(Path("in")) == Path(f"in/Ada Lovelace_12/{CH1}/{CH1}.py")


def moodle_with_bob(folder: Path, files: dict[str, bytes]) -> tuple[Path, Roster]:
    """Write two submissions that count, and Bob's with these files."""
    own = {"ada": FILES["ada"], "bao": FILES["bao"], "bob": files}
    return folder / "m.zip", read_roster(downloads.moodle(folder / "m.zip", own, {}))


@pytest.mark.slow
def test_who_submitted_a_file_that_says_no_chapter_has_not_submitted_nothing(monkeypatch, tmp_path):
    source, roster = moodle_with_bob(tmp_path, {"solution.py": b"1.0"})
    found = plan("moodle", source, COURSE, roster)
    (note,) = found.notes
    assert note.startswith("cannot tell which chapter Bob O'Neil_12347_assignsubmission_file_")
    assert "/solution.py belongs to; it will get 0 points." in note
    assert note.endswith(f"If it is {CH1}, run again with `--chapter {CH1}`")
    assert len(found.places) == 2 and found.left_out == [
        "Bao O'Neil_12346_assignsubmission_file_/notes.txt does not name a chapter; it is left out",
        "left out: 3 files (online texts)",
    ]
    write(found, tmp_path / "in")
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert not any("no submission for" in note for note in notes)
    submissions, _ = find_submissions(tmp_path / "in", COURSE)
    (bob,) = (
        submitted_files
        for submitted_files in submissions
        if submitted_files.student == "bob@uni.edu"
    )
    assert not bob.missing and bob.reason.endswith(f"{CH1}.ipynb; there is solution.py.")
    write(plan("moodle", source, COURSE, roster, chapter=CH1), tmp_path / "in")
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert {row["status"] for row in rows if row["student"] == "bob@uni.edu"} == {"passed"}


def test_where_nobody_knows_which_chapter_is_meant_it_is_beside_them(tmp_path):
    source = tmp_path / "m.zip"
    both = {f"{CH1}.py": b"1", f"{CH2}.py": b"2"}
    roster = read_roster(downloads.moodle(source, {"ada": both, "bob": {"a.py": b"1"}}, {}))
    found = plan("moodle", source, COURSE, roster)
    assert [place.path(Path("in")) for place in found.aside] == [Path("in/bob@uni.edu/a.py")]
    assert "Run again with `--chapter CHAPTER`" in found.notes[-1]


def test_of_two_scripts_none_is_guessed_and_both_are_kept(tmp_path):
    source, roster = moodle_with_bob(tmp_path, {"a.py": b"1", "b.py": b"2", "text.pdf": b"3"})
    found = plan("moodle", source, COURSE, roster, chapter=CH1)
    kept = [place.path(Path("in")) for place in found.aside]
    assert kept == [Path(f"in/bob@uni.edu/{CH1}/{name}") for name in ("a.py", "b.py", "text.pdf")]
    assert all("single script or notebook; rename the file" in note for note in found.notes)


def test_beside_a_file_that_says_its_chapter_nothing_else_means_it(tmp_path):
    source, roster = moodle_with_bob(tmp_path, {f"{CH1}.py": b"1", "plots.ipynb": b"{}"})
    found = plan("moodle", source, COURSE, roster, chapter=CH1)
    assert {place.kind for place in found.places} == {"py"} and not found.aside
    assert any("plots.ipynb does not name a chapter" in sentence for sentence in found.left_out)


def test_a_file_that_is_too_large_is_called_so_and_grading_says_it_too(tmp_path):
    most = COURSE.limits.source_bytes
    source, roster = moodle_with_bob(tmp_path, {f"{CH1}.py": b"#" * (most + 1)})
    found = plan("moodle", source, COURSE, roster)
    (note,) = found.notes
    assert "is larger than any answer; it will get 0 points" in note and "--ch" not in note
    write(found, tmp_path / "in")
    submissions, _ = find_submissions(tmp_path / "in", COURSE)
    assert any(
        f"has more than {most} bytes" in submitted_files.reason for submitted_files in submissions
    )


def test_what_is_about_in_a_repository_is_no_hand_in(tmp_path):
    source = downloads.git(tmp_path / "r", {"ada": FILES["ada"], "bob": {"notes.txt": b"x"}})
    found = plan(
        "git", source, COURSE, Roster("username", ({"username": "ada"}, {"username": "bob"}))
    )
    assert not found.aside and found.notes == ["submitted nothing: bob"]


@pytest.mark.slow
def test_classroom_50s_clones_come_in_by_its_own_list(monkeypatch, tmp_path):
    roster = read_roster(downloads.classroom50(tmp_path / "r", FILES))
    found = plan("git", tmp_path / "r", COURSE, roster, chapter=CH1)
    assert found.notes == [] and not found.aside
    assert write(found, tmp_path / "in") == []
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert {row["student"]: row["points"] / row["max_points"] for row in rows} == POINTS


def test_a_repository_made_of_the_kit_is_collected_without_what_learners_were_given(tmp_path):
    chapter = "ch3_causal_attention"
    given = f"given/ch4_multi_head_attention/{chapter}.py"
    for login in ("ada", "bao"):
        for where in (f"{chapter}.py", given, *(f"commands/{n}.py" for n in range(20))):
            path = tmp_path / "r" / f"attention-{login}" / "exercises" / where
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(where)
    found = plan("git", tmp_path / "r", COURSE, Roster())
    assert {place.submitted.entry.read() for place in found.places} == {f"{chapter}.py".encode()}
    assert not any(place.instead_of for place in found.places) and len(found.left_out) == 42
    *first, last = some_of(found.left_out)
    assert len(first) == 12 and last == "… and 30 more like these"
    assert some_of(first) == first


def test_an_unpacked_folder_is_as_good_as_the_zip(tmp_path):
    source, roster = collected("canvas", tmp_path)
    with zipfile.ZipFile(source) as archive:
        archive.extractall(tmp_path / "unpacked")
    first, second = (plan("canvas", s, COURSE, roster) for s in (source, tmp_path / "unpacked"))
    assert [p.path(tmp_path) for p in first.places] == [p.path(tmp_path) for p in second.places]


@pytest.mark.slow
def test_times_are_the_systems_own_and_lateness_follows_them(monkeypatch, tmp_path):
    from tensorgrade.lateness import Lateness

    when = {"bao": "Saturday, 16 January 2027, 12:30 AM"}
    roster = read_roster(downloads.moodle(tmp_path / "m.zip", FILES, when))
    found = plan("moodle", tmp_path / "m.zip", COURSE, roster, zone="Europe/Berlin")
    write(found, tmp_path / "in")
    source = downloads.gradescope(
        tmp_path / "g", FILES, {"bao": "2027-01-15 15:30:00.000000000 -08:00"}
    )
    write(plan("gradescope", source, COURSE, Roster()), tmp_path / "in2")
    rule = Lateness({CH1: "2027-01-15 23:29 UTC"}, share_a_day=0.5)
    for folder, bao in (("in", "bao@uni.edu"), ("in2", "78")):
        rows, _ = grade_by_content(monkeypatch, tmp_path / folder, tmp_path / f"out-{folder}", rule)
        late = {(row["student"], row["late_seconds"]) for row in rows if row["late_seconds"]}
        assert late == {(bao, 60.0)}, "23:30 in Greenwich; no other time is late or known"


def test_canvas_says_who_is_late_and_the_newest_version_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr(f"loveada_LATE_7_30_{CH1}.py", "0.1")
        archive.writestr(f"loveada_LATE_7_200_{CH1}-1.py", "0.9")
    found = plan("canvas", tmp_path / "c.zip", COURSE, Roster())
    (place,) = found.places
    assert place.submitted.entry.read() == b"0.9"
    assert [older.name for older in place.instead_of] == [f"{CH1}.py"]
    assert place.submitted.remark == "late, says Canvas"


def test_a_group_of_gradescopes_has_one_submission_each(tmp_path):
    source = downloads.gradescope(tmp_path / "g", {"ada": FILES["ada"]}, {})
    metadata = source / "submission_metadata.yml"
    more = "  - :name: Bao\n    :sid: '9'\n    :email: b@x\n  :created_at"
    metadata.write_text(metadata.read_text().replace("  :created_at", more, 1))
    found = plan("gradescope", source, COURSE, Roster())
    assert [place.folder for place in found.places] == ["77", "9"]


def test_of_two_versions_in_one_download_both_are_kept_and_the_copy_counts(tmp_path):
    """A browser calls a file that it loads once more `name (1).py`."""
    own = {f"{CH1} (1).py": b"2", f"{CH1}.py": b"1", f"{CH1} (10).py": b"3"}
    roster = read_roster(downloads.moodle(tmp_path / "m.zip", {"ada": own}, {}))
    for _ in range(2):  # collected once more nothing is kept twice
        found = plan("moodle", tmp_path / "m.zip", COURSE, roster)
        assert write(found, tmp_path / "in") == []
    folder = tmp_path / "in" / "ada@uni.edu" / CH1
    assert (folder / f"{CH1}.py").read_bytes() == b"3"
    kept = {path.name: path.read_bytes() for path in (folder / ".older").iterdir()}
    assert kept == {f"1-{CH1}.py": b"1", f"2-{CH1} (1).py": b"2"}


def test_versions_of_one_name_are_distinguished_by_their_folders(tmp_path):
    source = downloads.git(tmp_path / "r", {"ada": {}})
    for number, folder in enumerate(("src", "old")):
        (source / "attention-1-ada" / folder).mkdir()
        (source / "attention-1-ada" / folder / f"{CH1}.py").write_text(f"{number}")
    found = plan("git", source, COURSE, Roster())
    told = Console(width=300, record=True, file=io.StringIO())
    told.print(table(found))
    assert f"old/{CH1}.py" in told.export_text()


def test_collected_again_older_versions_are_kept_and_nothing_newer_is_lost(tmp_path):
    file = tmp_path / "in" / "77" / CH1 / f"{CH1}.py"
    from_gradescope(tmp_path, 10, CH1_py=b"1")
    from_gradescope(tmp_path, 12, CH1_py=b"2")
    assert file.read_bytes() == b"2"
    assert [path.read_bytes() for path in (file.parent / ".older").iterdir()] == [b"1"]
    found, (note,) = from_gradescope(tmp_path, 11, CH1_py=b"3")
    assert (len(found.places), found.stayed) == (1, 1), "the command counts only written files"
    assert file.read_bytes() == b"2" and "is newer than the collected file" in note


def from_gradescope(tmp_path, day: int, **files: bytes):
    """Collect ada's files of a day in January 2027; return the plan and the notes."""
    at = f"2027-01-{day:02} 12:00:00 +00:00"
    own = {f"{name.replace('_', '.')}": content for name, content in files.items()}
    own = {name.replace("CH1", CH1): content for name, content in own.items()}
    source = downloads.gradescope(tmp_path / f"{day}-{len(own)}", {"ada": own}, {"ada": at})
    found = plan("gradescope", source, COURSE, Roster())
    return found, write(found, tmp_path / "in")


def test_a_newer_script_replaces_the_notebook_that_its_submission_no_longer_has(tmp_path):
    folder = tmp_path / "in" / "77" / CH1
    from_gradescope(tmp_path, 10, CH1_ipynb=b"{}")
    found, notes = from_gradescope(tmp_path, 11, CH1_py=b"1")
    assert (folder / f"{CH1}.py").read_bytes() == b"1" and not (folder / f"{CH1}.ipynb").exists()
    assert (folder / ".older" / f"1-{CH1}.ipynb").read_bytes() == b"{}"
    (note,) = notes
    assert note.endswith(f"is not in the newer submission with {CH1}.py, and was moved to .older")
    assert (found.failed, found.stayed) == (0, 0)
    assert from_gradescope(tmp_path, 11, CH1_py=b"1")[1] == []
    found, (note,) = from_gradescope(tmp_path, 10, CH1_ipynb=b"{}")
    assert note.endswith("is not in the newest submission; it stays in .older")
    assert found.stayed == 1 and not (folder / f"{CH1}.ipynb").exists()
    assert (folder / f"{CH1}.py").exists(), "the older download changes nothing"
    from_gradescope(tmp_path, 12, CH1_ipynb=b"{}")
    assert not (folder / f"{CH1}.py").exists() and (folder / f"{CH1}.ipynb").exists()


def test_an_empty_script_no_longer_hides_a_newer_one_under_another_name(tmp_path):
    folder = tmp_path / "in" / "77" / CH1
    from_gradescope(tmp_path, 10, CH1_py=b"")
    source = downloads.gradescope(
        tmp_path / "new",
        {"ada": {"chapter1.py": b"1"}, "bao": {f"{CH1}.py": b"1"}},
        {"ada": "2027-01-11 12:00:00 +00:00"},
    )
    write(plan("gradescope", source, COURSE, Roster()), tmp_path / "in")
    assert {path.name for path in folder.glob("*.py")} == {"chapter1.py"}
    ada, _ = find_submissions(tmp_path / "in", COURSE)[0]
    assert ada.reason.endswith("there is chapter1.py.")


def test_a_file_copied_by_hand_is_not_taken_for_a_withdrawn_one(tmp_path):
    own = tmp_path / "in" / "77" / CH1 / f"{CH1}.ipynb"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"{}")
    assert from_gradescope(tmp_path, 11, CH1_py=b"1")[1] == [] and own.exists()


def test_weights_stay_if_only_the_code_is_submitted_again(tmp_path):
    chapter, file = "ch6_small_gpt", "my_model.safetensors"
    for day, own in ((10, {f"{chapter}.ipynb": b"{}", file: b"2"}), (11, {f"{chapter}.py": b"1"})):
        at = {"ada": f"2027-01-{day} 12:00:00 +00:00"}
        source = downloads.gradescope(tmp_path / f"{day}", {"ada": own}, at)
        write(plan("gradescope", source, COURSE, Roster()), tmp_path / "in")
    (ada,) = find_submissions(tmp_path / "in", COURSE)[0]
    assert ada.filename.endswith(".py") and ada.beside[0].content == b"2"


def test_the_stamp_is_the_latest_time_of_all_files_that_count(tmp_path):
    def collect(day: int, **files: bytes) -> str:
        at = f"2027-01-{day:02} 12:00:00 +00:00"
        own = {f"{CH1}.{kind}": content for kind, content in files.items()}
        source = downloads.gradescope(tmp_path / f"{day} {len(own)}", {"ada": own}, {"ada": at})
        write(plan("gradescope", source, COURSE, Roster()), tmp_path / "in")
        return (folder / "timestamp.txt").read_text()[:10]

    folder = tmp_path / "in" / "77" / CH1
    assert collect(10, ipynb=b"{}") == "2027-01-10"
    assert collect(5, py=b"1") == "2027-01-10", "the notebook is still there"
    assert collect(4, py=b"0") == "2027-01-10" and (folder / f"{CH1}.py").read_bytes() == b"1"
    assert collect(7, py=b"2") == "2027-01-10" and (folder / f"{CH1}.py").read_bytes() == b"2"
    assert collect(12, py=b"2", ipynb=b"{}") == "2027-01-12"
    assert collect(11, py=b"2") == "2027-01-12"


def test_who_has_a_folder_under_another_name_already_is_reported(tmp_path):
    source, roster = collected("moodle", tmp_path)
    found = plan("moodle", source, COURSE, roster)
    assert notes_on_second_folders(found, tmp_path / "in") == []
    write(found, tmp_path / "in")
    assert notes_on_second_folders(found, tmp_path / "in") == []
    (note,) = notes_on_second_folders(plan("moodle", source, COURSE, Roster()), tmp_path / "in")
    assert note.startswith("5 learners are in SUBMITTED under another name already")
    assert "ada@uni.edu is Ada O'Neil_12345" in note
    for folder in sorted((tmp_path / "in").iterdir())[1:]:
        shutil.rmtree(folder)
    (note,) = notes_on_second_folders(plan("moodle", source, COURSE, Roster()), tmp_path / "in")
    assert note.startswith("1 learner is in SUBMITTED under another name already")


@pytest.mark.slow
def test_a_damaged_zip_is_reported_by_collecting_and_by_grading(monkeypatch, tmp_path):
    source, roster = moodle_with_bob(tmp_path, {"work.zip": b"PK\x03\x04 no zip at all"})
    found = plan("moodle", source, COURSE, roster)
    (sentence,) = found.lost
    assert sentence.endswith("/work.zip is a damaged zip; nothing in it counts")
    told = Console(width=300, record=True, file=io.StringIO())
    told.print(table(found))
    assert "a damaged zip" in told.export_text()
    write(found, tmp_path / "in")
    _, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert "damaged zips, in which nothing counts: bob@uni.edu/work.zip" in notes
    assert not any("no submission for" in n or "no learner's file" in n for n in notes)
    (bob,) = [h for h in find_submissions(tmp_path / "in", COURSE)[0] if h.student == "bob@uni.edu"]
    assert bob.missing and bob.reason.endswith("nothing in it counts: work.zip.")
    path = tmp_path / "in" / "ada@uni.edu" / CH2 / "work.zip"
    path.parent.mkdir()
    path.write_bytes(b"no zip")
    (ada,) = [h for h in find_submissions(tmp_path / "in", COURSE)[0] if h.chapter == CH2][:1]
    assert ada.reason.endswith(f"nothing in it counts: {CH2}/work.zip.")


def test_an_online_text_alone_is_reported_as_such(tmp_path):
    source, roster = moodle_with_bob(tmp_path, {})
    found = plan("moodle", source, COURSE, roster)
    assert found.notes == [
        "submitted only an online text or link, which is not collected: bob@uni.edu"
    ]


def test_a_list_without_moodles_columns_names_only_these(tmp_path):
    (tmp_path / "r.csv").write_text("name,points\nada,1\n")
    with pytest.raises(CourseError, match="columns username, id number, email address, identif"):
        read_roster(tmp_path / "r.csv", "moodle")


def test_the_formgrader_reads_a_time_that_nobody_knows(tmp_path):
    """An empty `timestamp.txt` would keep its page of the whole class from loading."""
    from nbgrader.apps.api import NbGraderAPI
    from traitlets.config import Config

    folder = tmp_path / "submitted" / "bao@uni.edu" / CH1
    grader = NbGraderAPI(config=Config({"CourseDirectory": {"root": str(tmp_path)}}))
    at = "Saturday, 16 January 2027, 12:30 AM"
    other = FILES | {"bao": {f"{CH1}.py": b"0.25 "}}
    steps = ((FILES, {}, False), (FILES, {"bao": at}, True), (FILES, {}, True), (other, {}, False))
    for files, when, known in steps:
        roster = read_roster(downloads.moodle(tmp_path / "m.zip", files, when))
        found = plan("moodle", tmp_path / "m.zip", COURSE, roster, zone="UTC")
        write(found, folder.parents[1])
        told = grader.get_submitted_timestamp(CH1, "bao@uni.edu")
        assert (
            (told is not None) is known is bool(submission_time(folder, [folder / f"{CH1}.py"])[0])
        )
    (folder / "timestamp.txt").write_text("")
    with pytest.raises(ValueError, match="does not contain a date"):
        grader.get_submitted_timestamp(CH1, "bao@uni.edu")


def test_no_name_leads_out_of_the_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr(f"../../x_1_assignsubmission_file_/{CH1}.py", "1")
        archive.writestr(f"/tmp/y_2_assignsubmission_file_/{CH1}.py", "2")
        archive.writestr(f"a\\..\\z_3_assignsubmission_file_{CH1}.py", "3")
        archive.writestr("b_4_assignsubmission_file_/..\\..\\all.zip", "4")
    write(plan("moodle", tmp_path / "m.zip", COURSE, Roster()), tmp_path / "a" / "in")
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and "in" not in p.parts]
    assert outside == [tmp_path / "m.zip"]
    inside = {p.relative_to(tmp_path / "a" / "in").parts for p in (tmp_path / "a").rglob("*")}
    assert inside and all(".." not in parts for parts in inside)


def test_nothing_is_written_through_a_link(tmp_path):
    source, _ = collected("git", tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "bao").mkdir()
    (tmp_path / "in" / "bao" / CH1).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "chi" / CH1).mkdir(parents=True)
    (tmp_path / "in" / "chi" / CH1 / ".older").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "in" / "dan" / CH1).mkdir(parents=True)
    (tmp_path / "in" / "dan" / CH1 / f"{CH1}.py").symlink_to(tmp_path / "elsewhere" / "new")
    found = plan("git", source, COURSE, Roster(), chapter=CH1)
    write(found, tmp_path / "in")
    assert not list((tmp_path / "elsewhere").iterdir())
    assert len(found.lost) == 4 == found.failed
    assert all("has a link in its path" in sentence for sentence in found.lost)
    assert (tmp_path / "in" / "eve" / CH1 / f"{CH1}.py").read_bytes() == b"0.125 "


def test_no_setting_of_a_learners_repository_is_obeyed(tmp_path):
    source, _ = collected("git", tmp_path)
    plan("git", source, COURSE, Roster())
    assert not Path("/tmp/achieved").exists()


def test_who_is_not_on_the_roster_and_who_submitted_nothing_are_reported(tmp_path):
    source, _ = collected("moodle", tmp_path)
    lines = (tmp_path / "worksheet.csv").read_text("utf-8-sig").splitlines()
    lines = [*lines[:1], *lines[2:], "Participant 9,Zoe,zoe@uni.edu,,,100,,,,"]
    (tmp_path / "worksheet.csv").write_text("\n".join(lines))
    found = plan("moodle", source, COURSE, read_roster(tmp_path / "worksheet.csv"), CH1)
    assert found.notes == [
        "not on the roster: Ada O'Neil_12345",
        "submitted nothing: zoe@uni.edu",
    ]


@pytest.mark.parametrize(
    "layout, make, sentence",
    [
        (
            "blackboard",
            lambda p: p.mkdir(),
            "--from must be one of moodle, canvas, gradescope, git",
        ),
        ("moodle", lambda p: p.mkdir(), "does not look like a download from moodle"),
        ("canvas", lambda p: p.write_text("no zip"), "neither a folder nor a zip"),
        ("canvas", lambda p: None, "neither a folder nor a zip: No such file"),
        ("gradescope", lambda p: p.mkdir(), "there is no submission_metadata.yml"),
    ],
)
def test_what_is_no_download_is_a_sentence(tmp_path, layout, make, sentence):
    make(tmp_path / "source")
    with pytest.raises(CourseError, match=sentence):
        plan(layout, tmp_path / "source", COURSE, Roster())
    with pytest.raises(CourseError, match="--zone: there is no time zone Mars"):
        plan("git", tmp_path, COURSE, Roster(), zone="Mars")


@pytest.mark.parametrize("text", ["a: [", "- 1\n", "submission_1: 3\n"])
def test_metadata_that_says_nothing_is_a_sentence(tmp_path, text):
    (tmp_path / "submission_metadata.yml").write_text(text)
    with pytest.raises(CourseError, match=r"submission_metadata.yml (cannot be read|does not say)"):
        plan("gradescope", tmp_path, COURSE, Roster())


@pytest.mark.slow
def test_the_command_shows_who_is_who_first_and_a_preview_writes_nothing(tmp_path):
    source, _ = collected("canvas", tmp_path)
    options = ("--from", "canvas", "--roster", tmp_path / "gradebook.csv")
    command = ("tensorgrade.cli", "collect", source, tmp_path / "in", *options)
    done = run(*command, "--preview")
    assert done.returncode == 0 and not (tmp_path / "in").exists()
    assert "ada@uni.edu" in done.stdout and "late, says Canvas" in done.stdout
    assert "notes.txt does not name a chapter; it is left out" in done.stdout
    done = run(*command)
    assert "5 files written to" in done.stdout, done.stderr
    assert (tmp_path / "in" / "ada@uni.edu" / CH1 / f"{CH1}.py").exists()


def test_scripts_that_nbgrader_would_ignore_are_reported_with_the_command(tmp_path):
    source, roster = collected("canvas", tmp_path)
    found, submitted = plan("canvas", source, COURSE, roster), tmp_path / "submitted"
    (tmp_path / "nbgrader_config.py").touch()
    assert notes_on_nbgrader(found, submitted) == [], "the course does not use nbgrader"
    (tmp_path / "gradebook.db").touch()
    (note,) = notes_on_nbgrader(found, submitted)
    assert "4 scripts came in; run `python -m tensorgrade.nbgrader_plugin.script_to_no" in note
    assert notes_on_nbgrader(found, tmp_path / "elsewhere") == []
    assert notes_on_nbgrader(replace(found, places=[]), submitted) == []


def test_the_table_obeys_nothing_that_a_learner_wrote(tmp_path):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr(f"[red]\x1b[31mada_7_30_{CH1}.py", "0.1")
        archive.writestr("[red]\x1b[31mada_7_31_notes\x1b.txt", "0.1")
        archive.writestr("bao_8_32_my\x1b.py", "0.1")
    from rich.console import Console

    console = Console(record=True, width=200)
    found = plan("canvas", tmp_path / "c.zip", COURSE, Roster())
    assert len(found.notes) == 2 and len(found.left_out) == 1
    assert "\x1b" not in "".join(found.notes + found.left_out)
    odd = layouts.Submitted(layouts.Learner("9", "\\[/]:smile:"), f"{CH1}.py", Entry("a.py"))
    found.places.append(PlannedFile(odd, "chi", CH1, "py"))
    console.print(table(found))
    text = console.export_text()
    assert "[red]" in text and "\x1b" not in text and "\\[/]:smile:" in text


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_weights_come_in_beside_the_code_in_every_layout(tmp_path, layout):
    chapter, file = "ch6_small_gpt", "my_model.safetensors"
    copy = "my_model (1).safetensors"
    own = {
        "ada": {f"{chapter}.py": b"1", file: b"2"},
        "bao": {f"{chapter}.ipynb": b"{}", copy: b"4"},
    }
    if layout in ("moodle", "canvas"):
        source = tmp_path / "all.zip"
        getattr(downloads, layout)(source, own, {})
    elif layout == "gradescope":
        source = downloads.gradescope(tmp_path / "g", own, {})
    else:
        source = downloads.git(tmp_path / "r", own)
    found = plan(layout, source, COURSE, Roster())
    assert not [note for note in found.left_out if "safetensors" in note]
    assert write(found, tmp_path / "in") == []
    submissions, _ = find_submissions(tmp_path / "in", COURSE)
    assert [[one.content for one in submitted_files.beside] for submitted_files in submissions] == [
        [b"2"],
        [b"4"],
    ]
    assert {path.name for path in (tmp_path / "in").rglob("*.safetensors")} == {file}


def test_weights_that_are_too_large_are_no_answer_and_a_misnamed_script_still_is_one(tmp_path):
    chapter, file = "ch6_small_gpt", "my_model.safetensors"
    large = {f"{chapter}.py": b"1", file: bytes(1 << 21)}
    own = {"ada": {"homework.py": b"1", file: b"2"}, "bao": large}
    downloads.canvas(tmp_path / "c.zip", own, set())
    found = plan("canvas", tmp_path / "c.zip", COURSE, Roster(), chapter=chapter)
    assert len(found.places) == 3 and file in found.left_out[0] and "larger" in found.left_out[0]
    write(found, tmp_path / "in")
    ada, bao = find_submissions(tmp_path / "in", COURSE)[0]
    assert (ada.content, ada.beside[0].content) == (b"1", b"2")
    assert bao.content == b"1" and bao.beside[0].missing


def test_who_takes_one_older_version_away_loses_no_other(tmp_path):
    for content in (b"1", b"2", b"3", b"2"):
        keep_older(tmp_path, "a.py", content)
    (tmp_path / ".older" / "1-a.py").unlink()
    keep_older(tmp_path, "a.py", b"4")
    kept = {path.name: path.read_bytes() for path in (tmp_path / ".older").iterdir()}
    assert kept == {"2-a.py": b"2", "3-a.py": b"3", "4-a.py": b"4"}


def canvas_download(tmp_path, *names: str):
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        for name in names:
            archive.writestr(name, "1.0 ")
    return tmp_path / "c.zip"


def test_an_anonymous_canvas_download_is_reported_as_such(tmp_path):
    source = canvas_download(tmp_path, f"anon_aB3dE_77_{CH1}.py", f"LATE_anon_x9yZ2_78_{CH1}.py")
    found = plan("canvas", source, COURSE, Roster())
    (lost,) = found.lost
    assert lost.startswith("2 files cannot be assigned: Canvas hides who submitted them")


def test_texts_and_links_in_canvas_are_reported_for_their_learners(tmp_path):
    source = canvas_download(
        tmp_path, f"ada_1_77_{CH1}.py", "bao_2_text.html", "chi_LATE_3_link.html"
    )
    found = plan("canvas", source, COURSE, Roster())
    assert [place.folder for place in found.places] == ["ada_1"]
    assert found.notes == [
        "submitted only an online text or link, which is not collected: bao_2, chi_3"
    ]


@pytest.mark.parametrize("name", ["work.rar", "work.7z", "work.tar.gz"])
def test_an_archive_that_is_no_zip_is_called_so(tmp_path, name):
    found = plan("canvas", canvas_download(tmp_path, f"ada_1_77_{name}"), COURSE, Roster())
    (note,) = [note for note in found.notes if name in note]
    assert "is an archive that stays closed, because only zips are opened" in note
