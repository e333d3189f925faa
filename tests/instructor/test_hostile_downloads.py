"""Odd, damaged and hostile downloads: each costs its own learner only, and nothing gets lost."""

import os
import struct
import zipfile
from pathlib import Path

import pytest

from .downloads import Collected, collect, write_zip, zipped
from .runs import CH1, COURSE, notes_in

FILE = f"{CH1}.py"
MEGABYTE = 1 << 20
LONGEST_NOTE = 320  # characters: two lines of a wide terminal
LINK = 0o120777 << 16


def moodle(name: str, number: int, file: str = FILE) -> str:
    """Return a path in Moodle's download."""
    return f"{name}_{number}_assignsubmission_file_/{file}"


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

FLAT = "{}_{}_assignsubmission_file_{}"
ODD = "Ada Lovelace_1_assignsubmission_file"
NO_ID = "submission_{0}:\n  :submitters:\n  - :name: Ada\n"
BROKEN = [
    "submission_{}:\n  :submitters: 5\n  :created_at: 1\n",
    "submission_{}: " + "[" * 50_000 + "\n",
    "submission_{}:\n  :submitters: [1, 2]\n",
    "submission_{}: &a [*a, *a]\n",
    "submission_{}: \x00\n",
    "submission_{}:\n  :submitters:\n  - {{:sid: [1], :email: {{}}, :name: }}\n",
    "submission_{}:\n  :submitters:\n  - :sid: " + "9" * 200_000 + "\n",
    "submission_{}: 'open\n",
    2 * "submission_{0}:\n  :submitters:\n  - :name: Eve\n    :sid: eve\n",
    "",
]
# What is tried: system, entries, class list, whose file counts, whether something is lost, words.
WHOSE: dict[str, tuple[str, dict[str, str | bytes], str, dict[str, str], bool, tuple]] = {
    "metadata inside of a submission": (
        "gradescope",
        gradescope(record(1, "ben"), record(2, "ada"), s1="ben's", s2="ada's")
        | {"a/submission_1/submission_metadata.yml": record(1, "ada") + record(2, "ben"),
           f"a/submission_1/submission_2/{FILE}": "ben's, too",
           "a/submission_1/deep/submission_metadata.yml": record(2, "ben")},
        "", {"ada": "ada's", "ben": "ben's, too"}, False,
        ("2 files named submission_metadata.yml", "2026-11-10 10:00:00 UTC"),
    ),
    "a copied id": (
        "gradescope",
        gradescope(record(1, "77", "ada@x"), record(2, "77", "ben@x"), s1="ada's", s2="ben's"),
        "", {"77_ada@x": "ada's", "77_ben@x": "ben's"}, False, ("would share a folder name",),
    ),
    "a copied id, with a class list": (
        "gradescope",
        gradescope(record(1, "77", "ada@x"), record(2, "77", "ben@x"), s1="ada's", s2="ben's"),
        "sid,email\n77,ada@x\n78,ben@x\n", {"ada@x": "ada's", "ben@x": "ben's"}, False, (),
    ),
    "one name and no id": (
        "gradescope", gradescope(NO_ID.format(1), NO_ID.format(2), s1="1", s2="2"),
        "", {"Ada_submission_1": "1", "Ada_submission_2": "2"}, False, (),
    ),
    "broken records": (
        "gradescope",
        gradescope(
            record(1, "ada"),
            *(text.format(number) + record(100 + number, f"x{number}")
              for number, text in enumerate(BROKEN, 2)),
            **{f"s{number}": f"{number}" for number in (1, *range(2, 12), *range(102, 112))},
        ),
        "", {"ada": "1"} | {f"x{number}": f"{100 + number}" for number in range(2, 12)}, True,
        ("names no learner for 10 submissions",),
    ),
    "names like folders": (
        "moodle",
        {moodle("Ada Lovelace", 1): "ada's", moodle(ODD, 2): "ben's", moodle("Cleo", 3): "cleo's",
         moodle("Cleo", 3, moodle("Ada Lovelace", 1, "a.py")): "cleo's, too"},
        "", {"Ada Lovelace_1": "ada's", f"{ODD}_2": "ben's", "Cleo_3": "cleo's"}, False,
        ("1 display name could be taken for another learner's folder",),
    ),
    "the name of another learner": (
        "moodle", {moodle("Ada Lovelace", 2): "ben's"},
        "Identifier,Full name,Email address\nParticipant 1,Ada Lovelace,ada@x.org\n",
        {"Ada Lovelace_2": "ben's"}, False, ("submitted nothing: ada@x.org",),
    ),
    "flat files of two participants": (
        "moodle",
        {FLAT.format("Ada", 1, FILE): "ada's",
         FLAT.format("Ben", 2, FLAT.format("x", 1, FILE)): "ben's",
         FLAT.format(FLAT.format("Ada", 1, "y"), 2, FILE): "eve's"},
        "", {"Ada_1": "ada's"}, True, ("2 files cannot be assigned", "download the submissions in"),
    ),
    "names of Canvas below the top": (
        "canvas",
        {f"ada_101_5_{FILE}": "ada's", f"ben_102_6_work/ada_101_9_{FILE}": "forged",
         f"ben_102_7_202_8_{FILE}": "a script whose name means nothing"},
        "", {"ada_101": "ada's"}, False, ("1 file (in a subfolder, or without Canvas' ids)",),
    ),
    "names that are equal as folders": (
        "moodle", {moodle("x", n): f"{n}" for n in (1, 2, 3, 4)},
        "identifier,username,email\nParticipant 1,a/b,1@x\nParticipant 2,a_b,2@x\n"
        "Participant 3,A_B,3@x\nParticipant 4,c,4@x\n",
        {"a_b_1": "1", "a_b_2": "2", "A_B_3": "3", "c": "4"}, False, (),
    ),
    "a long cell in a class list": (
        "git", {f"hw-ada/{FILE}": "1", f"hw-ben/{FILE}": "2"},
        f"username,email\nada,{'x' * 200_000}\nben,b@x.org\n", {"ada": "1", "ben": "2"}, False,
        ("line 2 has a cell of over",),
    ),
    "a class list of 20,000": (
        "git", {f"hw-u7/{FILE}": "1", f"hw-u8/{FILE}": "2"},
        "username,email\n" + "".join(f"u{n},u{n}@x.org\n" for n in range(20_000)),
        {"u7": "1", "u8": "2"}, False, ("submitted nothing:", "and 19993 more"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOSE)
def test_a_file_counts_for_its_own_learner(tmp_path, name):
    system, entries, roster, count, lost, words = WHOSE[name]
    options = ()
    if roster:
        (tmp_path / "list.csv").write_text(roster)
        options = ("--roster", tmp_path / "list.csv")
    source = write_zip(tmp_path / "all.zip", entries)
    found = collect(system, source, tmp_path / "in", *options)
    check(found, count, *words, lost=lost)


@pytest.mark.parametrize(
    "folders, logins, expected",
    [
        (["hw-ada", "hw-eve-ada"], ["ada", "eve-ada"], ["ada", "eve-ada"]),
        (["hw-ada-x", "hw-ada-y"], ["x", "ada-x", "ada-y"], ["ada-x", "ada-y"]),
        (["ada-x", "ada-y"], ["x", "y", "ada-x", "ada-y"], ["ada-x", "ada-y"]),
        (["hw-ada", "hw-hw-ada"], ["ada", "hw-ada"], ["ada", "hw-ada"]),
        (["hw-x-ada", "hw-bo"], ["ada", "bo"], ["x-ada", "bo"]),
        (["hw-1-ada"], ["ada", "bo"], ["ada"]),
        (["hw-1-x-ada"], ["ada", "x-ada"], ["hw-1-x-ada"]),
        (["hw-1-cleo"], ["ada", "bo"], ["hw-1-cleo"]),
    ],
)
def test_a_login_counts_whole(tmp_path, folders, logins, expected):
    (tmp_path / "list.csv").write_text("\n".join(["username", *logins]) + "\n")
    source = write_zip(tmp_path / "r.zip", {f"{name}/{FILE}": name for name in folders})
    found = collect("git", source, tmp_path / "in", "--roster", tmp_path / "list.csv")
    check(found, dict(zip(expected, folders, strict=True)))


# --- entries of an archive ----------------------------------------------------------------------

KINDS = ["encrypted", "checksum", "size", "method", "header", "place", "data"]


def damage(data: bytearray, path: str, kind: str) -> None:
    """Damage an entry of a zip."""
    first = data.find(b"PK\x01\x02")
    central = data.index(path.encode(), first) - 46
    local = struct.unpack("<I", data[central + 42 : central + 46])[0]
    content = local + 30 + len(path)
    if kind == "encrypted":
        data[central + 8] |= 1
        data[local + 6] |= 1
    elif kind == "checksum":
        data[central + 16 : central + 20] = data[local + 14 : local + 18] = b"abcd"
    elif kind == "size":
        data[central + 24 : central + 28] = struct.pack("<I", 100)
    elif kind == "header":
        data[local + 30 : local + 33] = b"xyz"
    elif kind == "place":
        data[central + 42 : central + 46] = struct.pack("<I", len(data) + 9)
    elif kind == "data":
        data[content] = 0xFF
        data[content + 1 : content + 5] = b"\xff\xff\xff\xff"


def test_a_damaged_entry_costs_its_own_learner(tmp_path):
    damaged = {moodle(kind, 10 + number): kind for number, kind in enumerate(KINDS)}
    stream = tmp_path / "m.zip"
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(moodle("Ada", 1), "ada")
        for path, kind in damaged.items():
            text = bytes(30 * MEGABYTE) if kind == "size" else b"# ben\n" * 9
            method = zipfile.ZIP_BZIP2 if kind == "method" else zipfile.ZIP_DEFLATED
            archive.writestr(path, text, method)
        archive.writestr(moodle("Ben", 2), "older")
        archive.writestr(moodle("Ben", 2, f"{CH1} (1).py"), "newer", zipfile.ZIP_LZMA)
        archive.writestr(moodle("Cleo", 3), "cleo")
    data = bytearray(stream.read_bytes())
    for path, kind in damaged.items():
        damage(data, path, kind)
    stream.write_bytes(data)
    preview = collect("moodle", stream, tmp_path / "in", "--preview")
    found = collect("moodle", stream, tmp_path / "in")
    check(found, {"Ada_1": "ada", "Ben_2": "older", "Cleo_3": "cleo"}, "is encrypted", lost=True)
    for path in (*damaged, moodle("Ben", 2, f"{CH1} (1).py")):
        (line,) = [line for line in found.said.splitlines() if line.startswith(f"note: {path}")]
        assert line.endswith("it is left out") and line in preview.said
    assert preview.status == 1 and not preview.files


def test_no_path_leaves_the_folder_and_nothing_vanishes_without_a_note(tmp_path):
    entries = {
        moodle("Ada\nLove", 1): "ada",
        moodle(".ben", 2): "ben",
        moodle("Cleo", 3): "cleo",
        moodle("Cleo", 3, ".ch1.py"): "hidden",
        moodle("Dee", 4, ""): "",
        moodle("E\r\t\x1b[1m[red]", 5): "eve",
        moodle("..", 6): "fay",
        "../../" + moodle("Gil", 7): "gil",
        moodle("Hal", 8, "../../x.py"): "hal",
        f"/tmp/{moodle('Joe', 10)}": "joe",
        f"a\\..\\z_11_assignsubmission_file_{FILE}": "kim",
        "b_12_assignsubmission_file_/..\\..\\all.zip": zipped({FILE: "lea"}),
        "loose.py": "",
    }
    source = write_zip(tmp_path / "m.zip", entries)
    with zipfile.ZipFile(source, "a") as archive:
        link = zipfile.ZipInfo(moodle("Ian", 9))
        link.external_attr = LINK
        archive.writestr(link, "/etc/passwd")
    found = collect("moodle", source, tmp_path / "a" / "in")
    assert set(found.count.values()) == {"ada", "ben", "cleo", "eve", "fay", "kim"}
    assert {path.name for path in tmp_path.iterdir()} == {"m.zip", "a"}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["in"]
    assert not Path("/tmp/Joe_10_assignsubmission_file_").exists()
    for word in (
        "1 file (in no learner's folder)",
        "hidden files (2)",
        "links (1)",
        "leave the download (3)",
    ):
        assert word in found.said, found.said
    assert "no file that is collected: Dee_4" in found.said
    assert "[red]" in found.said and "\x1b" not in found.said
    names = [path.name for path in (tmp_path / "a" / "in").iterdir()]
    assert all(name.isprintable() and not name.startswith(".") for name in names)


def test_long_names_cost_nobody_anything(tmp_path):
    pad = 255 - len(CH1) - len(" ().py")
    names = [f"{CH1} ({'0' * (pad - 1)}{n}).py" for n in (1, 2)]
    entries = {moodle("Ada", 1): "ada", moodle("Cleo", 3): "cleo", moodle("D" * 5000, 4): "dee"}
    entries |= {moodle("Ben", 2, name): name[-5] for name in names}
    entries |= {moodle("Eve", 5, "x" * 3000 + ".py"): "eve", moodle("F" * 400, 6): "f"}
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    assert {"ada", "cleo", "2", "f"} == set(found.count.values()), "no disk takes Dee's path"
    assert "paths that are too long (1)" in found.said
    assert b"eve" in found.files.values(), "Eve's file means nothing, and is kept"


def test_names_may_be_any_bytes(tmp_path):
    entries = {moodle("Ada", 1): "ada", moodle("B\u00e9n", 2): "ben", moodle("Cleo", 3): "cleo"}
    source = write_zip(tmp_path / "m.zip", entries)
    data = source.read_bytes()
    assert data.count("B\u00e9n".encode()) == 2, "in its header and in the table of contents"
    source.write_bytes(data.replace("B\u00e9n".encode(), b"B\xff\xfen"))
    found = collect("moodle", source, tmp_path / "in")
    assert sorted(found.count.values()) == ["ada", "ben", "cleo"] and found.status == 0


def test_a_file_with_the_name_of_a_stamp_is_no_stamp(tmp_path):
    entries = {moodle("Ada", 1): "1", moodle("Ben", 2, "timestamp.txt"): "2020-01-01 00:00 UTC"}
    entries[moodle("Ben", 2, "TIMESTAMP.TXT")] = "\xff"
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in")
    assert f"{CH1}/_timestamp.txt" in found.of("Ben_2")
    assert not any(path.endswith("timestamp.txt") for path in found.stamps)


# --- folders --------------------------------------------------------------------------------------


def put(folder: Path, *paths: str | bytes) -> Path:
    """Write files that hold the name of their repository."""
    for name in map(os.fsdecode, paths):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(ascii(name.split("/")[0]).strip("'"))
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such links, files and names")
def test_links_special_files_and_odd_names_in_a_folder(tmp_path):
    secret = put(tmp_path, f"secret/{FILE}") / "secret"
    clones = put(tmp_path / "r", f"hw-ada/{FILE}", b"hw-b\xffn/" + FILE.encode(), b"hw-ada/\xfe.py")
    (clones / "hw-ben").mkdir()
    (clones / "hw-ben" / FILE).symlink_to(secret / FILE)
    (clones / "hw-ben" / "src").symlink_to(secret)
    (clones / "hw-cleo").symlink_to(secret)
    os.mkfifo(clones / "hw-ben" / "pipe.py")
    found = collect("git", clones, tmp_path / "in")
    words = ("no file that is collected: ben", "links (3), special files (1)", f"hw-ben/{FILE}")
    check(found, {"ada": "hw-ada", "b_n": "hw-b\\udcffn"}, *words, lost=True)


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_environments_are_skipped_and_nobody_vanishes_with_what_is_skipped(tmp_path, form):
    skipped = {
        "ada": ["env/conda-meta/history", f"env/lib/{FILE}"],
        "ben": [".DS_Store"],
        "cleo": [".hidden.py"],
        "dee": ["venv/pyvenv.cfg"],
        "eve": [".git/config"],
        "fay": ["work/__pycache__/a.pyc"],
        "gil": ["my-env/conda-meta/history"],
    }
    entries: dict[str, str | bytes] = {moodle("ada", 1): "ada"}
    for number, (name, paths) in enumerate(skipped.items(), 1):
        entries |= dict.fromkeys((moodle(name, number, path) for path in paths), "x")
    source = write_zip(tmp_path / "m.zip", entries)
    if form == "folder":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(tmp_path / "unpacked")
        source = tmp_path / "unpacked"
    rows = [f"Participant {number},{name}" for number, name in enumerate([*skipped, "hal"], 1)]
    (tmp_path / "list.csv").write_text("\n".join(["Identifier,Username", *rows]))
    found = collect("moodle", source, tmp_path / "in", "--roster", tmp_path / "list.csv")
    absent = "submitted no file that is collected: ben, cleo, dee, eve, fay and 1 more"
    check(found, {"ada": "ada"}, absent, "submitted nothing: hal", "virtual environments")
    assert len(found.files) == 1


def test_what_is_kept_is_bounded(tmp_path):
    folders = ("venv/lib", "my-env/lib/python3", "node_modules", "__pycache__", "src")
    names = [f"hw-ben/{folder}/m{number}.py" for folder in folders for number in range(100)]
    put(tmp_path / "r", *names, "hw-ben/my-env/pyvenv.cfg", "hw-ben/my_solution.py")
    found = collect("git", tmp_path / "r", tmp_path / "in")
    assert len(found.files) == 20 and "virtual environments (3)" in found.said
    assert "81 more files of hw-ben" in found.said and found.said.count("note: ") < 9
    entries = {moodle("Ben", 2, f"{CH1} ({n}).py"): f"{n}" for n in range(300)}
    entries |= {moodle("Eve", 3, f"w{n}.zip"): zipped({}) for n in range(50)}
    found = collect("moodle", write_zip(tmp_path / "m.zip", entries), tmp_path / "in2")
    assert found.count == {"Ben_2": "299"} and len(found.of("Ben_2")) == 20 == len(
        found.of("Eve_3")
    )


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
    (submitted / "chi" / CH1 / ".older").symlink_to(outside)
    (submitted / "dan" / CH1 / FILE).symlink_to(outside / "new")
    (submitted / "eve").write_text("a file")
    found = collect("git", source, submitted)
    assert found.count == {"fay": "hw-fay"} and not list(outside.iterdir())
    assert found.said.count("has a link in its path") == 4 and found.status == 1
    assert "1 file written" in found.said


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    source = write_zip(tmp_path / "m.zip", {moodle("Ada", 1): "new", moodle("Ben", 2): "new"})
    old = tmp_path / "in" / "Ada_1" / CH1 / FILE
    old.parent.mkdir(parents=True)
    old.write_text("old")
    replace = os.replace

    def full(name, path):
        if str(path) == str(old):
            raise OSError(28, "No space left on device")
        replace(name, path)

    monkeypatch.setattr(os, "replace", full)
    found = collect("moodle", source, tmp_path / "in")
    check(found, {"Ada_1": "old", "Ben_2": "new"}, "No space left on device", lost=True)
    assert not list((tmp_path / "in").rglob(".tmp-*"))


# --- times ----------------------------------------------------------------------------------------


def test_an_impossible_time_is_that_of_collecting_and_rows_say_so(term):
    said = ["0001-01-01 00:00:00 +0000", "9999-12-31 23:59:59 -1400", "soon", "2040-01-01 00:00 Z"]
    records = [record(n, f"x{n}", at=at) for n, at in enumerate(said, 1)] + [record(5, "ben")]
    files = {f"s{n}": "1.0" for n in range(1, 6)}
    source = write_zip(term.folder / "g.zip", gradescope(*records, **files))
    first, again = (collect("gradescope", source, term.submitted) for _ in range(2))
    assert "impossible times of 4 learners were replaced" in first.said
    assert first.stamps == again.stamps, "the first time that it was collected"
    term.settings(deadlines={CH1: "2026-11-11 00:00 UTC"}, share_a_day=0.5)
    graded = term.grade()
    for (student, chapter, _), row in graded.rows.items():
        assert row["submitted"] == first.time(student, chapter)
        assert (row["penalty"] > 0) == bool(row.get("time_note")) == (student != "ben")
    assert notes_in(graded.said, "impossible times were replaced")
    assert term.page().count("Time replaced:") == 4


def test_moodles_worksheet_of_the_first_year_stops_nobody(tmp_path):
    (tmp_path / "list.csv").write_text(
        "Identifier,Username,Last modified (submission)\n"
        'Participant 1,ada,"Monday, 1 January 0001, 12:30 AM"\n'
        'Participant 2,ben,"Friday, 31 December 9999, 11:59 PM"\nParticipant 3,cleo,-\n'
    )
    entries = {moodle(name, n): name for n, name in enumerate(("ada", "ben", "cleo"), 1)}
    source = write_zip(tmp_path / "m.zip", entries)
    for zone in ("Asia/Tokyo", "America/New_York", "UTC"):
        options = ("--roster", tmp_path / "list.csv", "--zone", zone)
        found = collect("moodle", source, tmp_path / zone.replace("/", "-"), *options)
        assert len(found.count) == 3 and "impossible times of 2 learners" in found.said


def test_many_archives_give_short_notes(term):
    names = [f"{member:060}/{FILE}" for member in range(300)]
    archive = zipped(dict.fromkeys(names, "1.0"))
    folder = term.submitted / "eve" / CH1
    folder.mkdir(parents=True)
    for number in range(40):
        (folder / f"work{number}.zip").write_bytes(archive)
    for number in range(60):
        (term.submitted / f"{number:0200}").mkdir()
    graded = term.grade()
    assert len(graded.rows) == 61 * len(COURSE.chapters[0].exercises)
    notes = notes_in(graded.said, "")
    assert len(notes) < 10 and all(len(note) < LONGEST_NOTE for note in notes)
