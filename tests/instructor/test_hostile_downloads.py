"""Downloads, rosters and archives that were made to do harm: each costs its own learner only."""

import io
import os
import struct
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tensorgrade import lateness
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor.collecting import LONGEST_NOTE, MOST_KEPT, Plan, plan
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.write_submissions import write
from tensorgrade.sources.finding import UNOPENED, find_submissions

from ..commands import ROOT, run
from .runs import grade_by_content

COURSE = load_course(ROOT / "graders")
CHAPTER = COURSE.chapters[0].name
FILE = f"{CHAPTER}.py"
MEGABYTE = 1 << 20


def write_zip(path: Path, entries: dict[str, str | bytes]) -> Path:
    """A zip with these entries."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def moodle(name: str, number: int, file: str = FILE) -> str:
    """A path in Moodle's download."""
    return f"{name}_{number}_assignsubmission_file_/{file}"


def collect(layout: str, source: Path, out: Path, roster: Roster | None = None) -> Plan:
    """Plan and write; a preview finds the same."""
    found = plan(layout, source, COURSE, roster or Roster())
    seen = found.told()
    assert write(found, out) == []
    assert found.told() == seen, "writing finds nothing that the preview did not"
    assert all(len(note) <= LONGEST_NOTE and "\n" not in note for note in seen)
    return found


def written(out: Path) -> dict[str, str]:
    """The text of each learner's file that counts."""
    return {path.parts[-3]: path.read_text() for path in out.glob(f"*/{CHAPTER}/{FILE}")}


# Identities


def record(key: str, sid: str, at: str = "2026-11-10 10:00:00 +0000", email: str = "") -> str:
    """What Gradescope says of one submission."""
    email = email or f"{sid}@x.org"
    people = f"  :submitters:\n  - :name: {sid.title()}\n    :sid: {sid}\n    :email: {email}\n"
    return f"{key}:\n{people}  :created_at: {at}\n"


def gradescope(folder: Path, metadata: str, **files: str) -> Path:
    """An export with this metadata, and one file of each submission."""
    entries: dict[str, str | bytes] = {"a/submission_metadata.yml": metadata}
    entries |= {f"a/{key}/{FILE}": text for key, text in files.items()}
    return write_zip(folder / "download.zip", entries)


def test_metadata_inside_of_a_submission_says_nothing(tmp_path):
    true = record("submission_1", "ben") + record("submission_2", "ada")
    forged = record("submission_1", "ada", "2020-01-01 00:00:00 +0000") + record(
        "submission_2", "ben"
    )
    source = gradescope(tmp_path, "---\n" + true, submission_1="ben's", submission_2="ada's")
    with zipfile.ZipFile(source, "a") as archive:
        archive.writestr("a/submission_1/submission_metadata.yml", forged)
        archive.writestr("a/submission_1/submission_2/ch1_simplified_attention.py", "no")
        archive.writestr("a/submission_1/deep/submission_metadata.yml", forged)
    found = collect("gradescope", source, tmp_path / "in")
    assert written(tmp_path / "in")["ada"] == "ada's"
    kept = {path.read_text() for path in (tmp_path / "in" / "ben").rglob("*.py")}
    assert kept == {"ben's", "no"}, "both are Ben's own, and one of them counts"
    assert any("2 files named submission_metadata.yml" in note for note in found.notes)
    assert {place.submitted.time for place in found.places} == {"2026-11-10 10:00:00 UTC"}


def test_who_copies_an_id_blocks_nobody(tmp_path):
    """Learners may set the sid of their account; the email address is the account's."""
    copied = record("submission_1", "77", email="ada@x.org") + record(
        "submission_2", "77", email="ben@x.org"
    )
    source = gradescope(tmp_path, copied, submission_1="ada's", submission_2="ben's")
    found = collect("gradescope", source, tmp_path / "in")
    assert written(tmp_path / "in") == {"77_ada@x.org": "ada's", "77_ben@x.org": "ben's"}
    assert any(note.startswith("2 learners would share a folder name") for note in found.notes)
    roster = tmp_path / "roster.csv"
    roster.write_text("sid,email\n77,ada@x.org\n78,ben@x.org\n")
    collect("gradescope", source, tmp_path / "on", read_roster(roster))
    assert written(tmp_path / "on") == {"ada@x.org": "ada's", "ben@x.org": "ben's"}


def test_people_with_one_name_and_no_id_have_two_folders(tmp_path):
    same = "{}:\n  :submitters:\n  - :name: Ada\n"
    source = gradescope(
        tmp_path,
        same.format("submission_1") + same.format("submission_2"),
        submission_1="1",
        submission_2="2",
    )
    collect("gradescope", source, tmp_path / "in")
    assert written(tmp_path / "in") == {"Ada_submission_1": "1", "Ada_submission_2": "2"}


@pytest.mark.parametrize(
    "broken",
    [
        "submission_2:\n  :submitters: 5\n  :created_at: 1\n",
        "submission_2: " + "[" * 50_000 + "\n",
        "submission_2:\n  :submitters: [1, 2]\n",
        "submission_2: &a [*a, *a]\n",
        "submission_2: \x00\n",
        "submission_2:\n  :submitters:\n  - {:sid: [1], :email: {}, :name: }\n",
        "submission_2:\n  :submitters:\n  - :sid: " + "9" * 200_000 + "\n",
        "submission_2: 'open\n",
        record("submission_2", "eve") * 2,
        "",
    ],
)
def test_a_broken_record_costs_its_own_submission(tmp_path, broken):
    metadata = record("submission_1", "ada") + broken + record("submission_3", "cleo")
    files = {f"submission_{n}": f"{n}" for n in (1, 2, 3)}
    found = collect("gradescope", gradescope(tmp_path, metadata, **files), tmp_path / "in")
    assert written(tmp_path / "in") == {"ada": "1", "cleo": "3"}
    assert found.lost == ["submission_metadata.yml names no learner for 1 submission: submission_2"]


@pytest.mark.parametrize("text", ["a: " + "[" * 50_000, "submission_1:\n  :submitters: 5\n"])
def test_metadata_that_says_nothing_at_all_is_one_sentence(tmp_path, text):
    with pytest.raises(CourseError, match="does not say who submitted what"):
        plan("gradescope", gradescope(tmp_path, text, submission_1="1"), COURSE, Roster())


ODD = "Ada Lovelace_1_assignsubmission_file"


def test_moodles_number_before_the_last_mark_says_who_it_is(tmp_path):
    entries = {moodle("Ada Lovelace", 1): "ada's", moodle(ODD, 2): "ben's"}
    entries[moodle("Cleo", 3, moodle("Ada Lovelace", 1, "a.py"))] = "cleo's"
    entries[moodle("Cleo", 3)] = "cleo's own"
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    assert written(tmp_path / "in") == {
        "Ada Lovelace_1": "ada's",
        f"{ODD}_2": "ben's",
        "Cleo_3": "cleo's own",
    }
    why = "each file was assigned by its participant number"
    assert f"1 display name could be taken for another learner's folder; {why}" in found.notes


def test_no_name_that_a_learner_chose_finds_a_row(tmp_path):
    """A learner can take another one's full name; the number in the worksheet stays."""
    roster = tmp_path / "roster.csv"
    source = write_zip(tmp_path / "m.zip", {moodle("Ada Lovelace", 2): "ben's"})
    for text in (
        "Identifier,Full name,Email address\nParticipant 1,Ada Lovelace,ada@x.org\n",
        "First name,Last name,Email address\nAda,Lovelace,ada@x.org\n",
    ):
        roster.write_text(text)
        out = tmp_path / f"in{len(text)}"
        found = collect("moodle", source, out, read_roster(roster))
        assert written(out) == {"Ada Lovelace_2": "ben's"}
        assert "submitted nothing: ada@x.org" in found.notes


def test_flat_files_that_two_participants_could_have_are_nobodys(tmp_path):
    flat = "{}_{}_assignsubmission_file_{}"
    entries = {
        flat.format("Ada", 1, FILE): "ada's",
        flat.format("Ben", 2, flat.format("x", 1, FILE)): "ben's",
        flat.format(flat.format("Ada", 1, "y"), 2, FILE): "eve's",
    }
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    assert written(tmp_path / "in") == {"Ada_1": "ada's"}
    assert (
        len(found.lost) == 1
        and found.lost[0].startswith("2 files cannot be assigned")
        and "folders" in found.lost[0]
    )


def test_canvas_files_are_only_at_the_top(tmp_path):
    entries = {
        f"ada_101_5_{FILE}": "ada's",
        f"ben_102_6_work/ada_101_9_{FILE}": "forged",
        f"ben_102_7_202_8_{FILE}": "a script whose name means nothing",
    }
    found = collect("canvas", write_zip(tmp_path / "c.zip", entries), tmp_path / "in")
    assert written(tmp_path / "in") == {"ada_101": "ada's"}
    assert any(
        note.endswith("1 file (in a subfolder, or without Canvas' ids)") for note in found.left_out
    )


@pytest.mark.parametrize(
    "folders, logins, expected",
    [
        ({"hw-ada": "1", "hw-eve-ada": "2"}, ["ada", "eve-ada"], {"ada": "1", "eve-ada": "2"}),
        ({"hw-ada-x": "1", "hw-ada-y": "2"}, ["x", "ada-x", "ada-y"], {"ada-x": "1", "ada-y": "2"}),
        ({"ada-x": "1", "ada-y": "2"}, ["x", "y", "ada-x", "ada-y"], {"ada-x": "1", "ada-y": "2"}),
        ({"hw-ada": "1", "hw-hw-ada": "2"}, ["ada", "hw-ada"], {"ada": "1", "hw-ada": "2"}),
        ({"hw-x-ada": "1", "hw-bo": "2"}, ["ada", "bo"], {"x-ada": "1", "bo": "2"}),
        ({"hw-1-ada": "1"}, ["ada", "bo"], {"ada": "1"}),
        ({"hw-1-x-ada": "1"}, ["ada", "x-ada"], {"hw-1-x-ada": "1"}),
        ({"hw-1-cleo": "1"}, ["ada", "bo"], {"hw-1-cleo": "1"}),
    ],
)
def test_a_login_counts_whole(tmp_path, folders, logins, expected):
    for folder, text in folders.items():
        (tmp_path / "r" / folder).mkdir(parents=True)
        (tmp_path / "r" / folder / FILE).write_text(text)
    roster = Roster("username", tuple({"username": login} for login in logins))
    collect("git", tmp_path / "r", tmp_path / "in", roster)
    assert written(tmp_path / "in") == expected


# Files


def damaged(kind: str) -> bytes:
    """Write Moodle's download of three learners with a damaged middle entry."""
    buffer = io.BytesIO()
    middle = bytes(30 * MEGABYTE) if kind == "size" else b"# ben\n" * 9
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name, text in ((1, "Ada", b"ada"), (2, "Ben", middle), (3, "Cleo", b"cleo")):
            info = zipfile.ZipInfo(moodle(name, number))
            info.compress_type = zipfile.ZIP_DEFLATED
            if kind == "method" and number == 2:
                info.compress_type = zipfile.ZIP_BZIP2
            archive.writestr(info, text)
    data = bytearray(buffer.getvalue())
    central = data.find(b"PK\x01\x02", data.find(b"PK\x01\x02") + 1)
    local = struct.unpack("<I", data[central + 42 : central + 46])[0]
    if kind == "encrypted":
        data[central + 8] |= 1
        data[local + 6] |= 1
    if kind == "checksum":
        data[central + 16 : central + 20] = data[local + 14 : local + 18] = b"abcd"
    if kind == "size":
        data[central + 24 : central + 28] = struct.pack("<I", 100)
    if kind == "header":
        data[local + 30 : local + 33] = b"xyz"
    if kind == "place":
        data[central + 42 : central + 46] = struct.pack("<I", len(data) + 9)
    if kind == "data":
        data[local + 31 + len(moodle("Ben", 2)) :][:4] = b"\xff\xff\xff\xff"
        data[local + 30 + len(moodle("Ben", 2))] = 0xFF
    return bytes(data)


KINDS = ["encrypted", "checksum", "size", "method", "header", "place", "data"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_entry_costs_its_own_learner(tmp_path, kind):
    (tmp_path / "m.zip").write_bytes(damaged(kind))
    found = collect("moodle", tmp_path / "m.zip", tmp_path / "in")
    assert written(tmp_path / "in") == {"Ada_1": "ada", "Cleo_3": "cleo"}
    (sentence,) = found.lost
    assert sentence.startswith(moodle("Ben", 2)) and sentence.endswith("it is left out")


def test_an_older_version_counts_if_the_newest_cannot_be_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr(moodle("Ben", 2), "older")
        broken = zipfile.ZipInfo(moodle("Ben", 2, f"{CHAPTER} (1).py"))
        broken.compress_type = zipfile.ZIP_LZMA
        archive.writestr(broken, "newer")
    found = collect("moodle", tmp_path / "m.zip", tmp_path / "in")
    assert written(tmp_path / "in") == {"Ben_2": "older"} and len(found.lost) == 1


@pytest.mark.slow
@pytest.mark.parametrize("option", [(), ("--preview",)])
def test_the_command_says_what_was_lost_and_ends_with_another_status(tmp_path, option):
    (tmp_path / "m.zip").write_bytes(damaged("encrypted"))
    command = ("collect", tmp_path / "m.zip", tmp_path / "in", "--from", "moodle", *option)
    done = run("tensorgrade.cli", *command)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "is encrypted; it is left out" in done.stdout


def test_long_names_cost_nobody_anything(tmp_path):
    pad = 255 - len(CHAPTER) - len(" ().py")
    names = [f"{CHAPTER} ({'0' * (pad - 1)}{n}).py" for n in (1, 2)]
    entries = {moodle("Ada", 1): "ada", moodle("Cleo", 3): "cleo", moodle("D" * 5000, 4): "dee"}
    entries |= {moodle("Ben", 2, name): name[-5] for name in names}
    entries |= {moodle("Eve", 5, "x" * 3000 + ".py"): "eve", moodle("F" * 400, 6): "f"}
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    texts = written(tmp_path / "in")
    assert {"ada", "cleo", "2", "f"} == set(texts.values()), "Dee's path is too long for any disk"
    assert any("paths that are too long (1)" in note for note in found.left_out)
    assert len(found.aside) == 1, "Eve's file means nothing, and is kept"


def test_a_name_that_is_no_utf_8_costs_no_learner_anything(tmp_path):
    entries = {moodle("Ada", 1): "ada", moodle("B\u00e9n", 2): "ben", moodle("Cleo", 3): "cleo"}
    source = write_zip(tmp_path / "m.zip", entries)
    data = source.read_bytes()
    assert data.count("B\u00e9n".encode()) == 2, "in its header and in the table of contents"
    source.write_bytes(data.replace("B\u00e9n".encode(), b"B\xff\xfen"))
    collect("moodle", source, tmp_path / "in")
    assert sorted(written(tmp_path / "in").values()) == ["ada", "ben", "cleo"]


@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such names")
def test_a_file_name_on_disk_may_be_any_bytes(tmp_path):
    for name in (b"hw-ada", b"hw-b\xffn"):
        clone = tmp_path / "r" / os.fsdecode(name)
        clone.mkdir(parents=True)
        (clone / FILE).write_text(clone.name[3])
        (clone / os.fsdecode(b"\xfe.py")).write_text("")
    collect("git", tmp_path / "r", tmp_path / "in")
    assert written(tmp_path / "in") == {"ada": "a", "b_n": "b"}


def test_nothing_vanishes_without_a_note(tmp_path):
    entries = {
        moodle("Ada\nLove", 1): "ada",
        moodle(".ben", 2): "ben",
        moodle("Cleo", 3): "cleo",
        moodle("Cleo", 3, ".ch1.py"): "hidden",
        moodle("Dee", 4, ""): "",
        moodle("E\r\t\x1b[1m", 5): "eve",
        moodle("..", 6): "fay",
        "../../" + moodle("Gil", 7): "gil",
        moodle("Hal", 8, "../../x.py"): "hal",
        "loose.py": "",
    }
    source = write_zip(tmp_path / "m.zip", entries)
    with zipfile.ZipFile(source, "a") as archive:
        link = zipfile.ZipInfo(moodle("Ian", 9))
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    found = collect("moodle", source, tmp_path / "in")
    assert sorted(written(tmp_path / "in").values()) == ["ada", "ben", "cleo", "eve", "fay"]
    assert found.left_out == [
        "left out: 1 file (in no learner's folder)",
        "skipped: hidden files (1), links (1), paths that leave the download (2)",
    ]
    assert "submitted no file that is collected: Dee_4" in found.notes
    assert any("4 names cannot be folder names" in note for note in found.notes)
    names = [path.name for path in (tmp_path / "in").iterdir()]
    assert all(name.isprintable() and not name.startswith(".") for name in names)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links and files")
def test_links_and_special_files_in_a_folder_are_counted_and_not_followed(tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / FILE).write_text("secret")
    ada, ben = tmp_path / "r" / "hw-ada", tmp_path / "r" / "hw-ben"
    for clone in (ada, ben):
        clone.mkdir(parents=True)
    (ada / FILE).write_text("ada")
    (ben / FILE).symlink_to(tmp_path / "secret" / FILE)
    (ben / "src").symlink_to(tmp_path / "secret")
    (tmp_path / "r" / "hw-cleo").symlink_to(tmp_path / "secret")
    os.mkfifo(ben / "pipe.py")
    found = collect("git", tmp_path / "r", tmp_path / "in")
    assert written(tmp_path / "in") == {"ada": "ada"}
    assert "submitted no file that is collected: ben" in found.notes
    assert "skipped: links (3), special files (1)" in found.left_out
    assert len(found.lost) == 1 and f"hw-ben/{FILE}" in found.lost[0], "no status 0 for a loss"


def test_a_file_with_the_name_of_a_stamp_is_no_stamp(tmp_path):
    entries = {moodle("Ada", 1): "1", moodle("Ben", 2, "timestamp.txt"): "2020-01-01 00:00 UTC"}
    entries[moodle("Ben", 2, "TIMESTAMP.TXT")] = "\xff"
    collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    folder = tmp_path / "in" / "Ben_2" / CHAPTER
    assert not (folder / "timestamp.txt").exists() and (folder / "_timestamp.txt").exists()
    assert {
        submitted_files.submitted
        for submitted_files in find_submissions(tmp_path / "in", COURSE)[0]
    } == {""}


def test_environments_and_caches_are_skipped_and_what_is_kept_is_bounded(tmp_path):
    clone = tmp_path / "r" / "hw-ben"
    for folder in ("venv/lib", "my-env/lib/python3", "node_modules", "__pycache__", "src"):
        (clone / folder).mkdir(parents=True)
        for number in range(100):
            (clone / folder / f"m{number}.py").write_text(f"{number}")
    (clone / "my-env" / "pyvenv.cfg").write_text("")
    (clone / "my_solution.py").write_text("ben")
    found = collect("git", tmp_path / "r", tmp_path / "in")
    assert len(found.aside) == MOST_KEPT and len(found.told()) < 9
    assert "skipped: virtual environments (3)" in found.left_out
    assert any(note.startswith("81 more files of hw-ben") for note in found.left_out)


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_conda_is_skipped_and_nobody_vanishes_with_what_is_skipped(tmp_path, form):
    names = {
        moodle("Ada", 1): "ada",
        moodle("Ada", 1, "env/conda-meta/history"): "",
        moodle("Ada", 1, f"env/lib/{FILE}"): "library",
        moodle("Ben", 2, ".DS_Store"): "",
        moodle("Cleo", 3, ".hidden.py"): "",
        moodle("Dee", 4, "venv/pyvenv.cfg"): "",
        moodle("Eve", 5, ".git/config"): "",
        moodle("Fay", 6, "work/__pycache__/a.pyc"): "",
        moodle("Gil", 7, "my-env/conda-meta/history"): "",
    }
    source = write_zip(tmp_path / "m.zip", names)
    if form == "folder":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(tmp_path / "unpacked")
        source = tmp_path / "unpacked"
    roster = tmp_path / "roster.csv"
    people = ["ada", "ben", "cleo", "dee", "eve", "fay", "gil", "hal"]
    rows = [f"Participant {number},{name}" for number, name in enumerate(people, 1)]
    roster.write_text("\n".join(["Identifier,Username", *rows]))
    found = collect("moodle", source, tmp_path / "in", read_roster(roster))
    assert written(tmp_path / "in") == {"ada": "ada"} and len(found.places) == 1
    assert found.notes == [
        "submitted nothing: hal",
        "submitted no file that is collected: ben, cleo, dee, eve, fay and 1 more",
    ]
    (skipped,) = found.left_out
    assert "virtual environments" in skipped and "hidden files (1)" in skipped


def test_many_versions_and_many_zips_are_bounded(tmp_path):
    entries = {moodle("Ben", 2, f"{CHAPTER} ({n}).py"): f"{n}" for n in range(300)}
    empty = b"PK\x05\x06" + bytes(18)
    entries |= {moodle("Eve", 3, f"w{n}.zip"): empty for n in range(50)}
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    assert written(tmp_path / "in") == {"Ben_2": "299"}
    assert len(list((tmp_path / "in" / "Ben_2" / CHAPTER / ".older").iterdir())) == MOST_KEPT - 1
    assert sum(place.kind == "zip" for place in found.places) == MOST_KEPT


def test_a_write_that_is_cut_off_leaves_the_old_file(tmp_path, monkeypatch):
    source = write_zip(tmp_path / "m.zip", {moodle("Ada", 1): "new", moodle("Ben", 2): "new"})
    old = tmp_path / "in" / "Ada_1" / CHAPTER / FILE
    old.parent.mkdir(parents=True)
    old.write_text("old")
    replace = os.replace

    def full(name, path):
        if str(path) == str(old):
            raise OSError(28, "No space left on device")
        replace(name, path)

    monkeypatch.setattr(os, "replace", full)
    found = plan("moodle", source, COURSE, Roster())
    write(found, tmp_path / "in")
    assert written(tmp_path / "in") == {"Ada_1": "old", "Ben_2": "new"}
    assert "No space left on device" in found.lost[0] and found.failed == 1
    assert not list((tmp_path / "in").rglob(".tmp-*"))


def test_a_name_that_is_taken_by_a_file_costs_one_learner(tmp_path):
    source = write_zip(tmp_path / "m.zip", {moodle("Ada", 1): "ada", moodle("Ben", 2): "ben"})
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Ada_1").write_text("a file")
    found = plan("moodle", source, COURSE, Roster())
    write(found, tmp_path / "in")
    assert written(tmp_path / "in") == {"Ben_2": "ben"} and len(found.lost) == 1


# Times


@pytest.mark.slow
@pytest.mark.parametrize(
    "said", ["0001-01-01 00:00:00 +0000", "9999-12-31 23:59:59 -1400", "soon", "2040-01-01 00:00 Z"]
)
def test_an_impossible_time_is_that_of_collecting_and_rows_say_so(tmp_path, monkeypatch, said):
    today = datetime(2027, 3, 1, tzinfo=UTC)
    monkeypatch.setattr("tensorgrade.instructor.layouts.now", lambda: today)
    metadata = record("submission_1", "ada", said) + record("submission_2", "ben")
    source = gradescope(tmp_path, metadata, submission_1="1.0", submission_2="0.5")
    for _ in range(2):  # collected again, it is still the first time that counts
        found = collect("gradescope", source, tmp_path / "in")
        monkeypatch.setattr("tensorgrade.instructor.layouts.now", lambda: today.replace(month=4))
    assert any("impossible times of 1 learner were replaced" in note for note in found.notes)
    rule = lateness.Lateness({CHAPTER: "2027-01-01 00:00 UTC"}, share_a_day=0.5)
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", rule)
    ada = {
        (r["submitted"], r["penalty"] > 0, bool(r["time_note"]))
        for r in rows
        if r["student"] == "ada"
    }
    assert ada == {("2027-03-01 00:00:00 UTC", True, True)}
    assert not any("time_note" in row for row in rows if row["student"] == "ben")
    assert any("impossible times were replaced, of ada" in note for note in notes)
    page = write_report(tmp_path / "out", COURSE).read_text()
    assert page.count("Time replaced:") == 1


def test_moodles_worksheet_of_the_first_year_stops_nobody(tmp_path):
    roster = tmp_path / "roster.csv"
    at = '"Monday, 1 January 0001, 12:30 AM"'
    roster.write_text(
        f"Identifier,Username,Last modified (submission)\nParticipant 1,ada,{at}\n"
        'Participant 2,ben,"Friday, 31 December 9999, 11:59 PM"\nParticipant 3,cleo,-\n'
    )
    entries = {moodle(name, n): name for n, name in enumerate(("ada", "ben", "cleo"), 1)}
    source = write_zip(tmp_path / "m.zip", entries)
    for zone in ("Asia/Tokyo", "America/New_York", "UTC"):
        found = plan("moodle", source, COURSE, read_roster(roster), zone=zone)
        assert [bool(place.submitted.time_note) for place in found.places] == [True, True, False]


# Rosters


@pytest.mark.parametrize(
    "text, sentence",
    [
        ('username,email\nada,"ada@x.org\nben,b@x.org\n', "line 2: a quote is not closed"),
        ('username,email\nada,a\nben,"b"x\n', "line 3: a quote is not closed"),
        ('username,email\nada,"a\nben,"\ncleo,c\n', "line 2: 'email' has a line break"),
        ("username,email\nada,a\nada,a\n", "names ada twice"),
    ],
)
def test_a_roster_that_is_broken_is_a_sentence_with_the_line(tmp_path, text, sentence):
    (tmp_path / "r.csv").write_text(text)
    with pytest.raises(CourseError, match=sentence):
        read_roster(tmp_path / "r.csv")


def test_carriage_returns_end_lines_and_a_long_cell_costs_its_row(tmp_path):
    (tmp_path / "r.csv").write_bytes(b"username,email\rada,a@x.org\rben,b@x.org\r")
    assert read_roster(tmp_path / "r.csv").folders == ("ada", "ben")
    (tmp_path / "r.csv").write_text(f"username,email\nada,{'x' * 200_000}\nben,b@x.org\n")
    roster = read_roster(tmp_path / "r.csv")
    assert roster.folders == ("ben",) and "line 2 has a cell of over" in roster.notes[0]


def test_two_people_with_one_folder_name_have_two_folders(tmp_path):
    (tmp_path / "r.csv").write_text(
        "identifier,username,email\nParticipant 1,a/b,1@x.org\nParticipant 2,a_b,2@x.org\n"
        "Participant 3,A_B,3@x.org\nParticipant 4,c,4@x.org\n"
    )
    roster = read_roster(tmp_path / "r.csv")
    assert roster.folders == ("a_b_1", "a_b_2", "A_B_3", "c")
    source = write_zip(tmp_path / "m.zip", {moodle("x", n): f"{n}" for n in (1, 2, 3, 4)})
    collect("moodle", source, tmp_path / "in", roster)
    assert written(tmp_path / "in") == {"a_b_1": "1", "a_b_2": "2", "A_B_3": "3", "c": "4"}


@pytest.mark.slow
def test_a_large_roster_is_read_in_linear_time(tmp_path):
    (tmp_path / "r.csv").write_text(
        "username,email\n" + "".join(f"u{n},u{n}@x.org\n" for n in range(20_000))
    )
    begun = time.monotonic()
    roster = read_roster(tmp_path / "r.csv")
    assert [roster.find("email", f"u{n}@x.org") for n in range(20_000)] == list(range(20_000))
    assert len(roster.folders) == 20_000
    assert time.monotonic() - begun < 20, "quadratic, it took minutes"


# Archives that learners submit


def submit(folder: Path, content: bytes, name: str = "work.zip") -> Path:
    """A learner's file in a chapter's folder."""
    path = folder / "submitted" / "eve" / CHAPTER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_an_archive_with_another_compression_is_reported_and_not_read(tmp_path):
    path = submit(tmp_path, b"")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(FILE, bytes(8 * MEGABYTE))
    ((submitted_files,), _) = find_submissions(tmp_path / "submitted", COURSE)
    assert (
        "work.zip/ch1_simplified_attention.py is compressed in a way that is"
        in submitted_files.reason
    )


@pytest.mark.slow
def test_a_lie_about_a_size_is_bounded(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, bytes(64 * MEGABYTE))
    data = bytearray(buffer.getvalue())
    central = data.find(b"PK\x01\x02")
    data[central + 24 : central + 28] = struct.pack("<I", 100)
    submit(tmp_path, bytes(data))
    ((submitted_files,), _) = find_submissions(tmp_path / "submitted", COURSE)
    assert (
        submitted_files.reason.endswith("cannot be read out of its zip.")
        and not submitted_files.content
    )


def test_an_archive_in_an_archive_is_not_opened(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(FILE, "x = 1")
    with zipfile.ZipFile(submit(tmp_path, b""), "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    ((submitted_files,), _) = find_submissions(tmp_path / "submitted", COURSE)
    assert not submitted_files.content and submitted_files.reason.endswith(
        UNOPENED.format(f"{CHAPTER}/work.zip/inner.zip")
    )


@pytest.mark.slow
def test_many_archives_give_short_notes(monkeypatch, tmp_path):
    for number in range(40):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for member in range(300):
                archive.writestr(f"{member:060}/{FILE}", f"{member}")
        submit(tmp_path, buffer.getvalue(), f"work{number}.zip")
    for number in range(60):
        (tmp_path / "submitted" / f"{number:0200}").mkdir()
    rows, notes = grade_by_content(monkeypatch, tmp_path / "submitted", tmp_path / "out")
    assert len(rows) == 61 * len(COURSE.chapters[0].exercises)
    assert len(notes) < 10 and all(len(note) <= LONGEST_NOTE for note in notes)
