"""A download of a course system becomes SUBMITTED/<student>/<chapter>/, and nothing gets lost."""

import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from . import downloads
from .downloads import Files, collect, given_out, logins, write_zip, zipped
from .runs import CH1, CH2, CH3, write_course

CH6 = "ch6_small_gpt"
PY = f"{CH1}.py"

# --- the same class from each system ------------------------------------------------------------

CLASS: dict[str, Files] = {
    "ada": {PY: b"1"},
    "bao": {PY: b"2", "notes.txt": b"hello"},
    "chi": {f"{CH1} (1).py": b"3"},
    "dan": {"homework.py": b"4"},
    "eve": {f"{CH6}.ipynb": b"{}", "my_model.safetensors": b"5"},
}
KEPT: dict[str, Files] = {
    "ada": {f"{CH1}/{PY}": b"1"},
    "bao": {f"{CH1}/{PY}": b"2"},
    "chi": {f"{CH1}/{PY}": b"3"},
    "dan": {},
    "eve": {f"{CH6}/{CH6}.ipynb": b"{}"},
}


@pytest.mark.parametrize(
    "system, folders",
    [
        ("moodle", "{}@uni.edu"),
        ("canvas", "{}@uni.edu"),
        ("canvas alone", "oneil{0}_{1}"),  # without a class list
        ("canvas unpacked", "{}@uni.edu"),
        ("gradescope alone", "{2}"),
        ("git", "{}"),
    ],
)
def test_each_system_delivers_the_same_files(tmp_path, system, folders):
    system, form = system.partition(" ")[::2]
    source, roster = given_out(system, tmp_path, CLASS)
    if form == "unpacked":
        with zipfile.ZipFile(source) as archive:
            archive.extractall(tmp_path / "unpacked")
        source = tmp_path / "unpacked"
    options = () if form == "alone" else ("--roster", roster)
    preview = collect(system, source, tmp_path / "in", *options, "--preview")
    assert preview.status == 0 and not (tmp_path / "in").exists()
    found = collect(system, source, tmp_path / "in", *options)
    named = {login: folders.format(login, 101 + n, 77 + n) for n, login in enumerate(CLASS)}
    assert {login: found.of(folder) for login, folder in named.items()} == KEPT
    assert found.status == 0 and found.said == preview.said.replace("would be written", "written")
    assert "with `--chapter CHAPTER`" in found.said and "4 submissions written" in found.said
    assert "people.csv: 0 as before, 5 new" in found.said
    assert "not on the roster" not in found.said and "submitted nothing" not in found.said
    again = collect(system, source, tmp_path / "in", *options)
    assert "people.csv: 5 as before, 0 new" in again.said and again.files == found.files
    own = {line["file"][-9:]: line for line in found.lines if line["student"] == named["bao"]}
    assert own["notes.txt"]["result"] == "left out: it does not name a chapter"
    assert sum(line["result"] == "used" for line in own.values()) == 1


# --- which files of a learner --------------------------------------------------------------------

# A learner: the files, what of it is in the learner's folder then, and words that are said.
# With `--chapter`:
OF_ONE_CHAPTER: dict[str, tuple[Files, Files, str]] = {
    "plain": ({PY: b"1"}, {f"{CH1}/{PY}": b"1"}, ""),
    "unnamed": ({"solution.py": b"1"}, {f"{CH1}/{PY}": b"1"}, ""),
    "several": (
        {"a.py": b"1", "b.py": b"2", "text.pdf": b"3"},
        {f"{CH1}/a.py": b"1", f"{CH1}/b.py": b"2", f"{CH1}/text.pdf": b"3"},
        "rename the file",
    ),
    "more": ({PY: b"1", "plots.ipynb": b"{}"}, {f"{CH1}/{PY}": b"1"}, ""),
    "large": ({PY: b"#" * (1 + (1 << 20))}, {f"{CH1}/{PY}": b"#" * (1 + (1 << 20))}, ""),
    "text": ({}, {}, "not collected: text@uni.edu"),
    "astext": ({f"{PY}.txt": b"1"}, {f"{CH1}/{PY}": b"1"}, ""),
    "deep": ({f"work/{PY}": b"1"}, {f"{CH1}/{PY}": b"1"}, ""),
    "rar": ({"work.rar": b"1"}, {f"{CH1}/work.rar": b"1"}, "only zips are opened"),
    "versions": (
        {f"{CH1} (1).py": b"2", PY: b"1", f"{CH1} (10).py": b"3"}, {f"{CH1}/{PY}": b"3"}, ""),
    "all": (
        {"all.zip": zipped({f"x/{PY}": "1", f"x/{CH3}.py": "3", "x/a.txt": ""})},
        {f"{CH1}/{PY}": b"1"}, ""),
    # These are losses:
    "damaged": ({"work.zip": b"PK\3\4 no"}, {f"{CH1}/work.zip": b"PK\3\4 no"}, "damaged"),
    "other": ({f"{CH2}.py": b"1"}, {}, f"belongs to {CH2} by its name, and not to {CH1}"),
    "otherzip": ({"my.zip": zipped({f"{CH2}.py": "1"})}, {}, f"my.zip/{CH2}.py"),
    "tied": (
        {f"a/{PY}": b"1", f"b/{PY}": b"2"}, {},
        f"cannot tell which counts of tied@uni.edu: a/{PY} or b/{PY}"),
}  # fmt: skip
# Without:
OF_ALL_CHAPTERS: dict[str, tuple[Files, Files, str]] = {
    "both": (
        {PY: b"1", f"{CH2}.py": b"2"},
        {f"{CH1}/{PY}": b"1", f"{CH2}/{CH2}.py": b"2"},
        "",
    ),
    "zip": (
        {"my.zip": zipped({PY: "1", f"a/{CH2}.py": "2", "a/b.txt": ""})},
        {f"{CH1}/{PY}": b"1", f"{CH2}/{CH2}.py": b"2"},
        "",
    ),
    "unnamed": ({"solution.py": b"1"}, {}, "cannot tell which chapter"),
}  # fmt: skip


@pytest.mark.parametrize(
    "cases, options, status",
    [(OF_ONE_CHAPTER, ("--chapter", CH1), 1), (OF_ALL_CHAPTERS, (), 0)],
)
def test_what_becomes_of_each_learners_files(tmp_path, cases, options, status):
    files = {login: own for login, (own, _, _) in cases.items()}
    source, roster = given_out("moodle", tmp_path, files)
    for _ in range(2):  # collected again, nothing is kept twice
        found = collect("moodle", source, tmp_path / "in", "--roster", roster, *options)
        for login, (_, kept, word) in cases.items():
            assert found.of(f"{login}@uni.edu") == kept, login
            assert word in found.said, found.said
        assert found.status == status


def test_a_file_without_a_chapters_name_is_kept_and_says_how_to_collect_it(tmp_path):
    source, _ = given_out("gradescope", tmp_path, {"ada": {PY: b"1"}, "bao": {"a.py": b"2"}})
    found = collect("gradescope", source, tmp_path / "in")
    assert found.of("78") == {f"{CH1}/a.py": b"2"} and f"`--chapter {CH1}`" in found.said


def test_a_repository_holds_more_than_a_submission(tmp_path):
    """The kit's own files are no answers, and `--chapter` takes the others' without a word."""
    kit = {f"exercises/{path}": b"kit" for path in (f"{CH2}.py", *(f"c/{n}.py" for n in range(20)))}
    files = {
        "ada": kit | {f"exercises/given/{CH3}/{CH2}.py": b"given"},
        "bao": {f"src/{PY}": b"new", f"old/{PY}": b"old"},
        "chi": {"notes.txt": b"no submission"},
        "dan": {PY: b"1", f"{CH2}.py": b"2"},
    }
    source, roster = given_out("git", tmp_path, files)
    found = collect("git", source, tmp_path / "in", "--roster", roster)
    assert found.of("ada") == {f"{CH2}/{CH2}.py": b"kit"} and found.of("bao") == {}
    assert f"cannot tell which counts of bao: old/{PY} or src/{PY}" in found.said
    found = collect("git", source, tmp_path / "one", "--chapter", CH2)
    assert found.of("dan") == {f"{CH2}/{CH2}.py": b"2"} and found.status == 0


def test_canvas_says_who_is_late_and_the_newest_version_counts(tmp_path):
    names = {f"loveada_LATE_7_30_{CH1}.py": "old", f"loveada_LATE_7_200_{CH1}-1.py": "new"}
    names |= {"bao_2_text.html": "", "chi_LATE_3_link.html": "", f"anon_aB3dE_77_{PY}": "x"}
    found = collect("canvas", write_zip(tmp_path / "c.zip", names), tmp_path / "in")
    assert found.count == {"loveada_7": "new"} and found.said.count("late, says Canvas") == 1
    assert "left out: Canvas hides who submitted" in found.said and found.status == 1
    old = {f"loveada_LATE_7_30_{CH1}.py": "old"}
    found = collect("canvas", write_zip(tmp_path / "d.zip", old), tmp_path / "in")
    assert found.count == {"loveada_7": "new"} and "newer, and stays" in found.said


# --- class lists --------------------------------------------------------------------------------


def test_drafts_and_learners_without_a_submission_are_named(tmp_path):
    source, roster = given_out("moodle", tmp_path, CLASS)
    lines = roster.read_text("utf-8-sig").splitlines()
    lines[1] = lines[1].replace("Submitted for grading", "Draft (not submitted)")
    roster.write_text("\n".join([*lines, "Participant 9,Zoe,zoe@uni.edu,No submission,,100,,,,"]))
    found = collect("moodle", source, tmp_path / "in", "--roster", roster)
    assert "have only a draft" in found.said
    assert "submitted nothing: zoe@uni.edu" in found.said and len(found.count) == 2


# --- times ----------------------------------------------------------------------------------------

GERMAN = (
    "ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung,Bewertung kann geändert "
    "werden,Zuletzt geändert (Abgabe),Zuletzt geändert (Bewertung),Feedback als Kommentar"
)
FRENCH = (
    "Identifiant,Nom complet,Adresse de courriel,Statut,Note,Note maximale,La note peut être "
    "modifiée,Dernière modification (travail remis),Dernière modification (note),Feedback"
)
ENGLISH = downloads.MOODLE_WORKSHEET
ONE = {"ada": {PY: b"1"}}
TWO = ONE | {"bao": {PY: b"2"}}


def from_moodle(
    folder: Path, files, when, *options, header=ENGLISH, word="Participant", **lateness
):
    """Collect from Moodle in a course with these settings of lateness."""
    sheet = downloads.moodle(folder / "m.zip", files, when)
    text = sheet.read_text("utf-8-sig").replace("Participant", word).replace("* ", "")
    sheet.write_text(text.replace(ENGLISH, header), encoding="utf-8-sig")
    write_course(folder / "course", lateness=lateness)
    told = ("--roster", sheet, *options)
    return collect("moodle", folder / "m.zip", folder / "in", *told, course=folder / "course")


@pytest.mark.parametrize(
    "header, word, when",
    [
        (GERMAN, "Teilnehmer/in", "Freitag, 15. Januar 2027, 23:59"),
        (GERMAN, "Teilnehmer/in*", "Freitag, 15. Januar 2027, 23:59"),  # without a space
        (FRENCH, "Participant", "vendredi 15 janvier 2027, 23:59"),
        (ENGLISH, "Participant", "viernes, 15 de enero de 2027, 23:59"),
        (ENGLISH, "Participant", "January 15, 2027, 11:59 PM"),
        (ENGLISH, "Participant", "2027-01-15 23:59"),
    ],
)
def test_worksheets_in_common_languages_are_understood(tmp_path, header, word, when):
    found = from_moodle(tmp_path, ONE, {"ada": when}, header=header, word=word, zone="UTC")
    assert found.time("ada@uni.edu", CH1) == "2027-01-15 23:59:00 UTC", found.said


BERLIN, DUE = {"zone": "Europe/Berlin"}, {"deadlines": {CH1: "2027-01-15 23:59 UTC"}}
LATE = {"ada": "Friday, 15 January 2027, 11:59 PM"}


@pytest.mark.parametrize(
    "when, options, lateness, time, word",
    [
        (LATE, (), BERLIN, "2027-01-15 22:59:00 UTC", "2027-01-15 23:59:00 Europe/Berlin"),
        (LATE, ("--zone", "UTC"), BERLIN, "2027-01-15 23:59:00 UTC", ""),
        ({"ada": "Sunday, 31 October 2027, 2:30 AM"}, (), BERLIN, "2027-10-31 00:30:00 UTC", ""),
        (LATE, (), BERLIN | DUE, "2027-01-15 22:59:00 UTC", ""),
        ({}, (), DUE, "", ""),
        # These are refused:
        (LATE, (), {}, None, "zone of the worksheet's dates"),
        (LATE, ("--zone", "Mars"), BERLIN, None, "no time zone Mars"),
        ({"ada": "1/2/2027, 11:59 PM"}, (), {"zone": "UTC"}, None, "the date '1/2/2027, 11:59 PM'"),
        ({"ada": "gestern"}, (), BERLIN, None, "line 2: the date 'gestern' in 'last modified"),
        ({}, (), {"deadlines": {CH1: "2027-01-15 23:59"}}, None, "names no time zone"),
    ],
)  # fmt: skip
def test_times_of_the_worksheet_need_a_zone(tmp_path, when, options, lateness, time, word):
    found = from_moodle(tmp_path, TWO, when, *options, **lateness)
    assert re.sub(r"\s+", " ", word) in re.sub(r"\s+", " ", found.said), found.said
    assert found.status == (2 if time is None else 0)
    assert found.time("ada@uni.edu", CH1) == (time or "")
    assert bool(found.files) == (time is not None)


SETTINGS = """
[core]
    fsmonitor = touch {0}
    pager = touch {0}
    alternateRefsCommand = touch {0}
[uploadpack]
    packObjectsHook = touch {0}
[log]
    showSignature = true
[gpg]
    program = touch {0}
"""


def test_a_clones_file_has_the_time_of_its_last_commit_and_no_setting_of_a_clone_runs(tmp_path):
    def git(name: str, *arguments: str, date: str = "2026-01-10T10:00:00+02:00") -> None:
        own = {
            "GIT_COMMITTER_DATE": date,
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "PATH": "/usr/bin:/bin",
        }
        who = ["git", "-c", "user.name=ada", "-c", "user.email=ada@uni.edu"]
        subprocess.run([*who, *arguments], cwd=clones / f"hw-{name}", env=own, check=True)

    clones, trap, names = tmp_path / "clones", tmp_path / "touched", ("old", "head", "trap", "none")
    (clones / "hw-ada").mkdir(parents=True)
    git("ada", "init", "-q", "-b", "main")
    for text, date in (("1", "2026-01-10T10:00:00+02:00"), ("2", "2026-01-12T23:30:00+02:00")):
        (clones / "hw-ada" / PY).write_text(text)
        git("ada", "add", ".")
        git("ada", "commit", "-q", "-m", "x", date=date)
    for name in names:
        shutil.copytree(clones / "hw-ada", clones / f"hw-{name}")
    git("old", "checkout", "-q", "--detach", "HEAD~1")
    with (clones / "hw-trap" / ".git" / "config").open("a") as config:
        config.write(SETTINGS.format(trap))
    (clones / "hw-head" / ".git" / "HEAD").write_text("ref: ../../secret")
    shutil.rmtree(clones / "hw-none" / ".git")
    roster = logins(tmp_path, "ada", *names)
    found = collect("git", clones, tmp_path / "in", "--roster", roster)
    times = {"ada": "2026-01-12 21:30:00 UTC", "old": "2026-01-10 08:00:00 UTC"}
    times |= {"head": "", "trap": times["ada"], "none": ""}
    assert {login: found.time(login, CH1) for login in times} == times
    assert not trap.exists()


# --- collecting again ---------------------------------------------------------------------------


def again(folder: Path, *steps: tuple[int, Files]) -> downloads.Collected:
    """Collect a learner's files of one day of January 2027 after another; return the last."""
    for day, files in steps:
        shutil.rmtree(folder / "export", ignore_errors=True)
        at = {"ada": f"2027-01-{day:02} 12:00:00 +00:00"}
        own = {"ada": files, "bao": {PY: b"0"}}
        source = downloads.gradescope(folder / "export", own, at)
        found = collect("gradescope", source, folder / "in")
        assert found.status == 0, found.said
    return found


NB = f"{CH1}.ipynb"


@pytest.mark.parametrize(
    "steps, kept, day, replaced",
    [
        ([(10, {PY: b"1"}), (12, {PY: b"2"})], {PY: b"2"}, 12, [b"1"]),
        ([(12, {PY: b"2"}), (11, {PY: b"3"})], {PY: b"2"}, 12, []),
        # a newer script replaces a notebook that the submission no longer has
        ([(10, {NB: b"{}"}), (11, {PY: b"1"})], {PY: b"1"}, 11, [b"{}"]),
        ([(10, {NB: b"{}"}), (11, {PY: b"1"}), (10, {NB: b"{}"})], {PY: b"1"}, 11, [b"{}"]),
        ([(10, {NB: b"{}"}), (11, {PY: b"1"}), (12, {NB: b"{}"})], {NB: b"{}"}, 12, [b"{}", b"1"]),
        ([(12, {PY: b"2", NB: b"{}"}), (11, {PY: b"2"})], {PY: b"2", NB: b"{}"}, 12, []),
        # the same file keeps its first time
        ([(11, {PY: b"1"}), (12, {PY: b"1"}), (10, {PY: b"1"}), (13, {PY: b"1"})],
         {PY: b"1"}, 10, []),
        # a file that means nothing replaces none that counts
        ([(10, {PY: b"1"}), (11, {"a.pdf": b"2"})], {PY: b"1"}, 10, []),
        ([(10, {PY: b""}), (11, {"chapter1.py": b"1"})], {PY: b""}, 10, []),
    ],
)  # fmt: skip
def test_a_newer_submission_replaces_the_folder_as_a_whole(tmp_path, steps, kept, day, replaced):
    last = again(tmp_path, *steps)
    assert last.of("77") == {f"{CH1}/{name}": content for name, content in kept.items()}
    assert last.time("77", CH1).startswith(f"2027-01-{day}")
    aside = sorted((tmp_path / "in" / ".replaced").glob(f"77/{CH1}-*/{CH1}.*"))
    assert [path.read_bytes() for path in aside] == replaced


# --- what is refused ----------------------------------------------------------------------------

MOODLE = {f"Ada_1_assignsubmission_file_/{PY}": "1", f"Ben_2_assignsubmission_file_/{PY}": "2"}
CLONES = {f"hw-ada/{PY}": "1", f"hw-ben/{PY}": "2"}


def metadata(text: str) -> dict[str, str]:
    """Return Gradescope's export of one submission with this metadata."""
    return {"a/submission_metadata.yml": text, f"a/submission_1/{PY}": "1"}


@pytest.mark.parametrize(
    "system, source, roster, word",
    [
        ("blackboard", MOODLE, None, "must be one of moodle, canvas, gradescope, git"),
        ("moodle", MOODLE, None, "Moodle's numbers are in its grading worksheet"),
        ("git", CLONES, None, "2 of 2 clones end with no login of the class"),
        ("git", {}, None, "does not look like a download from git"),
        ("canvas", MOODLE, None, "does not look like a download from canvas"),
        ("canvas", "no zip", None, "neither a folder nor a zip"),
        ("canvas", None, None, "No such file"),
        ("gradescope", MOODLE, None, "no submission_metadata.yml"),
        ("gradescope", metadata("submission_1: 3\n"), None, "no submission_metadata.yml"),
        ("gradescope", metadata("submission_1:\n  :submitters: 5\n"), None, "names nobody for"),
        ("gradescope", metadata("a: " + "[" * 50_000), None, "yml cannot be read"),
        ("git", CLONES, b"colour,shape\nred,round\n", "it has colour, shape"),
        ("git", CLONES, b"", "none of the columns"),
        ("git", CLONES, b"id,name\n", "has a header, but no learners"),
        ("git", CLONES, b"username,email\nada,a\nada,a\n", "in line 2 too"),
        ("git", CLONES, b"id\n\xff\xfe\n", "CSV UTF-8"),
        ("git", CLONES, b'username,email\nada,a\nben,"b"x\n', "not closed"),
        ("git", CLONES, b'username,email\nada,"a\nben,"\ncleo,c\n', "line 2: 'email' has a line"),
        ("moodle", MOODLE, b"email\nada\n", "Moodle's numbers"),
        ("moodle", MOODLE, b"identifier,email\nParticipant 7,z@x\n", "nobody in"),
    ],
)  # fmt: skip
def test_what_cannot_be_collected_is_refused_in_a_sentence(tmp_path, system, source, roster, word):
    if isinstance(source, dict):
        write_zip(tmp_path / "all.zip", source)
    elif source is not None:
        (tmp_path / "all.zip").write_text(source)
    if roster is not None:
        (tmp_path / "list.csv").write_bytes(roster)
    options = () if roster is None else ("--roster", tmp_path / "list.csv")
    found = collect(system, tmp_path / "all.zip", tmp_path / "in", *options)
    said = re.sub(r"\s+", " ", found.said)
    assert found.status == 2 and word in said, said
    assert not found.files and "Traceback" not in said
