"""Odd, damaged and hostile downloads: each costs its own learner only, and nothing gets lost."""

import os
import zipfile
from itertools import count
from pathlib import Path

import pytest

from . import downloads
from .downloads import Collected, collect, logins, write_zip, zipped
from .runs import CH1, CH2, notes_in

FILE = f"{CH1}.py"
MEGABYTE = 1 << 20
LONGEST_NOTE = 320  # characters: two lines of a wide terminal
LINK = 0o120777 << 16


def moodle(name: str, number: int, file: str = FILE) -> str:
    """Return a path in Moodle's download."""
    return f"{name}_{number}_assignsubmission_file/{file}"


def from_moodle(folder: Path, source: Path, *names: str, options=()) -> Collected:
    """Collect from Moodle with a worksheet of these participants, numbered from 1."""
    rows = [f'Participant {number},"{name}",l{number}' for number, name in enumerate(names, 1)]
    sheet = folder / "worksheet.csv"
    sheet.write_text("\n".join(["Identifier,Full name,Username", *rows]), encoding="utf-8")
    return collect("moodle", source, folder / "in", "--roster", sheet, *options)


def record(key: int, sid: str, email: str = "", at: str = "2026-11-10 10:00:00 +0000") -> str:
    """Return what Gradescope says of one submission."""
    person = f"  - :name: {sid.title()}\n    :sid: {sid}\n    :email: {email or f'{sid}@x.org'}\n"
    return f"submission_{key}:\n  :submitters:\n{person}  :created_at: {at}\n"


def gradescope(*metadata: str, **files: str) -> dict[str, str | bytes]:
    """Return an export with this metadata and these files; `s1` is in submission_1."""
    own = {f"a/submission_{key[1:]}/{FILE}": text for key, text in files.items()}
    return {"a/submission_metadata.yml": "---\n" + "".join(metadata)} | own


def check(found: Collected, count: dict[str, str], *words: str, lost: bool = False) -> None:
    """Compare the files that count, the words and the status with what they should be."""
    assert found.count == count, found.said
    assert found.status == int(lost), found.said
    for word in words:
        assert word in found.said, found.said
    assert all(len(line) < LONGEST_NOTE for line in found.said.splitlines() if "note: " in line)
    assert "Traceback" not in found.said and "\x1b" not in found.said


# --- whose file it is ---------------------------------------------------------------------------

NO_ID = "submission_2:\n  :submitters:\n  - :name: Ada\n"
SHEET = "Identifier,Full name,Email address,Group\n"
BOOK = "Student,ID,SIS Login ID\n"
# What is tried: system, entries, class list, whose file counts, whether something is lost, words.
WHOSE: dict[str, tuple[str, dict[str, str | bytes], str, dict[str, str], bool, tuple]] = {
    "metadata inside of a submission": (
        "gradescope",
        gradescope(record(1, "ben"), record(2, "ada"), s2="ada's")
        | {"a/submission_1/submission_metadata.yml": record(1, "ada") + record(2, "ben"),
           f"a/submission_1/submission_2/{FILE}": "ben's",
           "a/submission_1/deep/submission_metadata.yml": record(2, "ben")},
        "", {"ada": "ada's", "ben": "ben's"}, False, ("2026-11-10 10:00:00 UTC",),
    ),
    "a copied id": (
        "gradescope",
        gradescope(record(1, "77", "ada@x"), record(2, "77", "ben@x"), s1="ada's", s2="ben's"),
        "", {"77": "ada's", "ben@x": "ben's"}, False, (),
    ),
    "a copied id, with a class list": (
        "gradescope",
        gradescope(record(1, "77", "ben@x"), record(2, "77", "ada@x"), s1="ben's", s2="ada's"),
        "sid,email\n77,ada@x\n78,ben@x\n", {"ada@x": "ada's", "ben@x": "ben's"}, False, (),
    ),
    "two submissions of one person": (
        "gradescope",
        gradescope(record(1, "ada", at="2026-11-10 11:00 Z"), record(2, "ada"), s1="new", s2="old"),
        "", {"ada": "new"}, False, ("older than",),
    ),
    "a name and no id": (
        "gradescope", gradescope(record(1, "ada"), NO_ID, s1="1", s2="2"),
        "", {"ada": "1"}, True, ("names nobody for submission_2",),
    ),
    "a group with a person's number": (
        "moodle", {moodle("Falcons", 1): "group's", moodle("Cleo Marsh", 3): "cleo's",
                   f"Default group_assignsubmission_file/{FILE}": "rest's"},
        f"{SHEET}Participant 1,Ada Lind,ada@x,Falcons-\nParticipant 2,Ben Okoro,ben@x,Falcons-\n"
        "Participant 3,Cleo Marsh,cleo@x,\nParticipant 4,Dan Vogel,dan@x,Default group\n",
        {"ada@x": "group's", "ben@x": "group's", "cleo@x": "cleo's", "dan@x": "rest's"}, False, (),
    ),
    "the name of another learner": (
        "moodle", {moodle("Ada Lovelace", 2): "eve's", moodle("Cleo", 3): "cleo's"},
        f"{SHEET}Participant 1,Ada Lovelace,ada@x,\nParticipant 2,Eve,eve@x,\n"
        "Participant 3,Cleo,cleo@x,\n", {"cleo@x": "cleo's"}, True,
        ("no person and no group named Ada Lovelace (number 2 is Eve (eve@x))",
         "submitted nothing: ada@x, eve@x"),
    ),
    "a name without letters is nobody's group": (
        "moodle", {moodle("~", 9): "1", moodle("Cleo", 2): "2"},
        f"{SHEET}Participant 1,Ada,ada@x,\nParticipant 2,Cleo,cleo@x,\n", {"cleo@x": "2"}, True,
        ("no person and no group named ~",),
    ),
    "names that Moodle changes": (
        "moodle", {moodle("Ada Maria Lind", 1): "1", moodle("Cleo Marsh", 2): "2",
                   f"x/Dan 2 V_3_assignsubmission_file_{FILE}": "3"},
        f'{SHEET}Participant 1,Ada_Maria "Lind",ada@x,\nParticipant 2,Cleo: Marsh,cleo@x,\n'
        "Participant 3,Dan 2 V.,dan@x,\n".replace('Ada_Maria "Lind"', '"Ada_Maria ""Lind"""'),
        {"ada@x": "1", "cleo@x": "2", "dan@x": "3"}, False, (),
    ),
    "numbers and underscores in Canvas": (
        "canvas",
        {f"van_dijk2ada_101_5_7_8_{FILE}": "ada's", f"lind_3ben_LATE_102_6_{FILE}": "ben's",
         f"owls_103_7_{FILE}": "group's"},
        f'{BOOK}"van_Dijk 2, Ada",101,ada\n"Lind_3, Ben",102,ben\n"Okoro, Cleo",103,cleo\n',
        {"ben": "ben's"}, True,
        ("owls has the number 103 of Okoro, Cleo (cleo)",),
    ),
    "split names in Canvas": (
        "canvas", {f"lindada_101_5_{FILE}": "1"}, "LastName,FirstName,ID\nLind,Ada,101\n",
        {"101": "1"}, False, (),
    ),
    "Canvas' files below the top": (
        "canvas",
        {f"c/ada_101_5_{FILE}": "ada's", f"c/ben_102_6_work/ada_101_9_{FILE}": "forged",
         "list.csv": ""},
        "", {"ada_101": "ada's"}, False, (),
    ),
    "clones one folder too deep": (
        "git", {f"clones/hw-ADA/{FILE}": "1", "list.csv": ""}, "username\nada\nben\n",
        {"ada": "1"}, False, (),
    ),
    "a login with a dash": (
        "git", {f"hw-ada/{FILE}": "1", f"hw-eve-ada/{FILE}": "2"}, "username\nada\neve-ada\n",
        {"ada": "1", "eve-ada": "2"}, False, (),
    ),
    "logins that end alike": (
        "git", {f"hw-ada-x/{FILE}": "1", f"hw-ada-y/{FILE}": "2"}, "username\nx\nada-x\nada-y\n",
        {"ada-x": "1", "ada-y": "2"}, False, (),
    ),
    "a login like the assignment": (
        "git", {f"hw-ada/{FILE}": "1", f"hw-hw-ada/{FILE}": "2"}, "username\nada\nhw-ada\n",
        {"ada": "1", "hw-ada": "2"}, False, (),
    ),
    "one clone is unknown": (
        "git", {f"hw-ada/{FILE}": "1", f"hw-x-ada/{FILE}": "2", f"hw-ben/{FILE}": "3"},
        "username\nada\nben\n", {"ada": "1", "ben": "3"}, True,
        ("hw-x-ada ends with no login of the class",),
    ),
    "a long cell and staff": (
        "git", {f"hw-ada/{FILE}": "1"},
        f"username,email,role\nada,{'x' * 200_000},\ntom,tom@x,Instructor\n", {"ada": "1"}, False,
        ("left out: 1 person of the staff",),
    ),
    "ids before addresses": (
        "moodle", {moodle("A", 7): "1"}, "Identifier,Email address,ID number\n"
        "Participant 7,ada@x.org,s1\nParticipant 8,b@x.org,s2\n", {"s1": "1"}, False, (),
    ),
    "a student for tests": (
        "canvas", {f"lovelaceada_101_5_{FILE}": "1"}, f"{BOOK}    Points Possible,,\n"
        '"Lovelace, Ada",101,ada\n"Student, Test",999,\n', {"ada": "1"}, False,
        ("people.csv: 0 as before, 1 new",),
    ),
    "semicolons and a mark": (
        "git", {f"hw-ADA/{FILE}": "1"}, "\ufeffusername;name\r\nada;Lovelace\r\nbao;O'Connor\r\n",
        {"ada": "1"}, False, (),
    ),
    "lines that end like on old machines": (
        "git", {f"hw-ada/{FILE}": "1"}, "username,email\rada,a@x.org\rben,b@x.org\r",
        {"ada": "1"}, False, (),
    ),
    "another id than the host's login": (
        "git", {f"hw-ada/{FILE}": "1"}, "id,github_username\ns12,ada\ns13,bao\n",
        {"s12": "1"}, False, (),
    ),
    "times in the host's list": (
        "git", {f"hw-ada/{FILE}": "1"},
        "github_username,submission_timestamp\nada,2027-01-10T12:00:00Z\n", {"ada": "1"}, False,
        ("2027-01-10 12:00:00 UTC",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOSE)
def test_a_file_counts_for_its_own_learner(tmp_path, name):
    system, entries, roster, count, lost, words = WHOSE[name]
    options = ()
    if roster:
        (tmp_path / "list.csv").write_text(roster, encoding="utf-8", newline="")
        options = ("--roster", tmp_path / "list.csv")
    source = write_zip(tmp_path / "all.zip", entries)
    found = collect(system, source, tmp_path / "in", *options)
    check(found, count, *words, lost=lost)


def test_members_of_a_team_in_teams_csv_get_its_file(tmp_path):
    """Canvas and git do not say who is in a group."""
    (tmp_path / "in").mkdir()
    teams = f"student,team,chapter\nada,owls,\nben,owls,\nada,ben,{CH1}\ncleo,ben,{CH1}\n"
    (tmp_path / "in" / "teams.csv").write_text(teams)
    roster = tmp_path / "list.csv"
    roster.write_text(f'{BOOK}"Lind, Ada",101,ada\n"Okoro, Ben",102,ben\n"Marsh, Cleo",103,cleo\n')
    source = write_zip(tmp_path / "c.zip", {f"owls_102_7_{FILE}": "1"})
    found = collect("canvas", source, tmp_path / "in", "--roster", roster)
    check(found, {"ada": "1", "ben": "1"}, "owls")
    source = write_zip(tmp_path / "r.zip", {f"hw-ben/{FILE}": "2"})
    found = collect("git", source, tmp_path / "in")
    check(found, {"ada": "2", "ben": "1", "cleo": "2"})


def test_groups_of_course_systems_are_teams(tmp_path):
    """Gradescope names several submitters."""
    files = {name: {FILE: b"0.5 "} for name in ("ada", "ben")}
    folder = downloads.gradescope(tmp_path / "g", files, {})
    metadata = folder / "submission_metadata.yml"
    more = "  - :name: Chi\n    :sid: '90'\n    :email: chi@uni.edu\n  :created_at"
    metadata.write_text(metadata.read_text().replace("  :created_at", more, 1))
    teams = tmp_path / "in" / "teams.csv"
    found = collect("gradescope", folder, tmp_path / "in")
    assert found.said.count("used; of the group submission_77") == 2
    assert found.count == {"77": "0.5 ", "78": "0.5 ", "90": "0.5 "}
    own = [f"{student},submission_77,{CH1}" for student in ("77", "90")]
    assert teams.read_text().splitlines()[1:] == own
    teams.write_text(teams.read_text() + f"90,owls,{CH2}\n")
    alone = downloads.gradescope(tmp_path / "h", files, {})
    collect("gradescope", alone, tmp_path / "in")
    assert teams.read_text().splitlines()[1:] == [own[1], f"90,owls,{CH2}"]


# --- entries of an archive ----------------------------------------------------------------------


def test_an_entry_that_is_not_read_costs_its_own_learner(tmp_path):
    source, names = tmp_path / "m.zip", ["Ada", "Ben", "Cleo", "Large", "Broken"]
    second = {name: moodle(name, n, f"{CH1} (1).py") for n, name in ((2, "Ben"), (3, "Cleo"))}
    link = zipfile.ZipInfo(second["Cleo"])
    link.external_attr = LINK
    with zipfile.ZipFile(source, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(names, 1):
            archive.writestr(moodle(name, number), bytes(30 * MEGABYTE) if number == 4 else name)
        archive.writestr(second["Ben"], "newer", zipfile.ZIP_LZMA)
        archive.writestr(link, "/etc/passwd")
    data = bytearray(source.read_bytes())
    data[data.rindex(moodle("Broken", 5).encode()) - 4] = 0xFF  # the place of its data
    source.write_bytes(data)
    found = from_moodle(tmp_path, source, *names)
    check(found, {"l1": "Ada", "l2": "Ben", "l3": "Cleo"}, lost=True)
    for path in (moodle("Large", 4), moodle("Broken", 5), *second.values()):
        assert f"note: {path} is left out: it " in found.said


def test_no_path_leaves_the_folder_and_odd_names_cost_nobody_anything(tmp_path):
    names = ["Ada", ".ben", "Cleo", "[red]", "..", "Gil", "Hal", "Joe", "a..z", "b", "D" * 5000]
    names += ["Mia", "Eve"]
    pad = "0" * (254 - len(CH1) - len(" ().py"))
    entries = {
        moodle("Ada\n", 1): "ada",
        moodle(".ben", 2): "ben",
        moodle("Cleo", 3): "cleo",
        moodle("Cleo", 3, ".ch1.py"): "hidden",
        moodle("\r\t\x1b[red]", 4): "eve",
        moodle("..", 5): "fay",
        moodle("Gil", 6, "x.txt"): "gil",
        moodle("Hal", 7, "../../x.py"): "hal",
        f"/tmp/{moodle('Joe', 8)}": "joe",
        f"a\\..\\z_9_assignsubmission_file_{FILE}": "kim",
        "b_10_assignsubmission_file/x\\..\\all.zip": zipped({FILE: "lea"}),
        moodle("D" * 5000, 11): "dee",
        moodle("Mia", 12, f"{CH1} ({pad}1).py"): "older",
        moodle("Mia", 12, f"{CH1} ({pad}2).py"): "mia",
        moodle("Eve", 13, "x" * 3000 + ".py"): "kept",
        moodle("Eve", 13, "timestamp.txt"): "2020-01-01 00:00 UTC",
        "loose.py": "",
    }
    source = write_zip(tmp_path / "m.zip", entries)
    (tmp_path / "a").mkdir()
    found = from_moodle(tmp_path / "a", source, *names)
    counted = {"ada", "ben", "cleo", "eve", "fay", "joe", "kim", "lea", "dee", "mia"}
    assert counted == set(found.count.values())
    assert b"kept" in found.of("l13").values() and f"{CH1}/_timestamp.txt" in found.of("l13")
    assert not found.stamps
    assert {path.name for path in tmp_path.iterdir()} == {"m.zip", "a"}
    here = {path.name for path in (tmp_path / "a").iterdir()}
    assert here == {"in", "worksheet.csv", "people.csv"}
    assert "[red]" in found.said and "\x1b" not in found.said


# --- folders --------------------------------------------------------------------------------------


def put(folder: Path, *paths: str | bytes) -> Path:
    """Write files that hold the name of their repository."""
    for name in map(os.fsdecode, paths):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ascii(name.split("/")[0]).strip("'"))
    return folder


def from_git(folder: Path, source: Path, *names: str, options=()) -> Collected:
    """Collect clones of a class with these logins."""
    roster = logins(folder, *names)
    return collect("git", source, folder / "in", "--roster", roster, *options)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links, files and names")
def test_links_and_special_files_in_a_folder(tmp_path):
    secret = put(tmp_path, f"secret/{FILE}") / "secret"
    clones = put(tmp_path / "r", f"hw-ada/{FILE}", b"hw-ada/\xfe.py")
    (clones / "hw-ben").mkdir()
    (clones / "hw-ben" / FILE).symlink_to(secret / FILE)
    (clones / "hw-ben" / "src").symlink_to(secret)
    (clones / "hw-cleo").symlink_to(secret)
    os.mkfifo(clones / "hw-ben" / f"{CH1}.ipynb")
    found = from_git(tmp_path, clones, "ada", "ben", "cleo")
    words = ("it is a link, not a file", f"hw-ben/{CH1}.ipynb is left out: it is not a regular")
    check(found, {"ada": "hw-ada"}, *words, "submitted nothing: cleo", lost=True)


def test_installed_packages_and_hidden_files_are_left_out(tmp_path):
    paths = {"Ada": "env/lib", "Ben": ".venv", "Cleo": "venv/x", "Dee": "a/__pycache__"}
    entries: dict[str, str | bytes] = {moodle("Ada", 1): "ada"}
    for number, (name, folder) in enumerate(paths.items(), 1):
        entries[moodle(name, number, f"{folder}/{FILE}")] = "x"
    with zipfile.ZipFile(write_zip(tmp_path / "m.zip", entries)) as archive:
        archive.extractall(tmp_path / "unpacked")
    for form in ("m.zip", "unpacked"):
        found = from_moodle(tmp_path, tmp_path / form, *paths, "Hal")
        check(found, {"l1": "ada"}, "submitted nothing: l2, l3, l4, l5")
        assert len(found.files) == 1


def test_what_is_kept_is_bounded(tmp_path):
    put(tmp_path / "r", *(f"hw-ben/src/m{number}.py" for number in range(100)))
    logins(tmp_path, "ben")
    found = collect(
        "git",
        tmp_path / "r",
        tmp_path / "in",
        "--roster",
        tmp_path / "logins.csv",
        "--chapter",
        CH1,
    )
    assert len(found.files) == 20 and len(found.lines) == 100
    assert found.said.count("note: ") < 9
    entries = {moodle("Ben", 1, f"{CH1} ({n}).py"): f"{n}" for n in range(300)}
    entries |= {moodle("Eve", 2, f"w{n}.zip"): zipped({FILE: f"{n}"}) for n in range(50)}
    (tmp_path / "m").mkdir()
    found = from_moodle(tmp_path / "m", write_zip(tmp_path / "m.zip", entries), "Ben", "Eve")
    assert found.count == {"l1": "299"} and "cannot tell which counts of l2" in found.said
    notes = [line for line in found.said.splitlines() if line.startswith("note: ")]
    assert len(notes) < 10 and all(len(note) < LONGEST_NOTE for note in notes)


# --- SUBMITTED ----------------------------------------------------------------------------------


def test_nothing_is_written_through_a_link(tmp_path):
    names = ("ada", "bao", "chi", "dan", "eve", "fay")
    source = put(tmp_path / "r", *(f"hw-{name}/{FILE}" for name in names))
    outside, submitted = tmp_path / "outside", tmp_path / "in"
    for folder in (outside, submitted, *(submitted / name / CH1 for name in ("chi", "dan"))):
        folder.mkdir(parents=True)
    (submitted / "ada").symlink_to(outside)
    (submitted / "bao").mkdir()
    (submitted / "bao" / CH1).symlink_to(outside)
    (submitted / "chi" / CH1 / "timestamp.txt").symlink_to(outside / "time")
    (submitted / "dan" / CH1 / FILE).symlink_to(outside / "new")
    (submitted / "eve").write_text("a file")
    found = from_git(tmp_path, source, *names)
    assert found.count == {"chi": "hw-chi", "dan": "hw-dan", "fay": "hw-fay"}
    assert not list(outside.iterdir())
    assert found.said.count("cannot be written: a link is in its path") == 2 and found.status == 1
    assert "3 submissions written" in found.said


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    source = write_zip(tmp_path / "m.zip", {moodle("Ada", 1): "new", moodle("Ben", 2): "new"})
    old = tmp_path / "in" / "l1" / CH1 / FILE
    old.parent.mkdir(parents=True)
    old.write_text("old")
    write, number = os.fdopen, count(1)

    def full(file, mode, *more):
        if mode == "wb" and next(number) == 2:  # after people.csv
            raise OSError(28, "No space left on device")
        return write(file, mode, *more)

    monkeypatch.setattr("tensorgrade.folders.os.fdopen", full)
    found = from_moodle(tmp_path, source, "Ada", "Ben")
    check(found, {"l1": "old", "l2": "new"}, "No space left on device", lost=True)
    assert not list((tmp_path / "in").glob(".tmp-*"))


# --- times ----------------------------------------------------------------------------------------


def test_many_archives_give_short_notes(term):
    archive = zipped({f"{member:060}/{FILE}": "1.0" for member in range(300)})
    for number in range(40):
        path = term.submitted / "eve" / CH1 / f"work{number}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(archive)
        (term.submitted / f"{number:0200}").mkdir()
    notes = notes_in(term.grade().said, "")
    assert len(notes) < 10 and all(len(note) < LONGEST_NOTE for note in notes)
