"""Results from one run to the next: what moved and why, what is lost, and what is kept."""

import shutil
import sqlite3
import zipfile
from pathlib import Path

import pytest

from ..support import needs, some
from .runs import (
    CH1,
    CH2,
    CHAPTER,
    COURSE,
    MOST,
    NAMES,
    PowerCut,
    notes_in,
    points_of,
)

pytestmark = pytest.mark.slow
SHARES = {"ada": 1.0, "bao": 0.5, "chi": 0.0}
LATE = {"deadlines": {CH1: "2020-01-01 00:00 UTC"}, "share_a_day": 0.5, "most": 0.5}


@pytest.fixture
def graded(term):
    """A class of three that was graded once."""
    for student, share in SHARES.items():
        term.put(student, share, text=student)
    graded.rows = term.grade().rows
    return term


def causes(term, student: str) -> list[str]:
    """Return the causes of a learner's moves, as the log names them."""
    lines = [line for line in term.log(student) if " → " in line]
    return [line.rpartition("(")[2].rstrip(")") for line in lines]


# --- what moved, and why -------------------------------------------------------------------------


def test_files_deadlines_and_graders_are_told_apart(graded):
    graded.put("bao", 1.0)
    assert "differ" not in graded.grade().said, "learners may get better"
    assert set(causes(graded, "bao")) == {"another file"} and causes(graded, "ada") == []
    graded.settings(**LATE)
    assert "Deadlines or late penalties changed; points differ in 12" in graded.grade().said
    assert causes(graded, "ada") == ["other deadlines"] * len(NAMES)
    graded.settings(graders=6, **LATE)
    graded.finds = {"ada": 0.5, "bao": 0.8}
    said = graded.grade().said
    assert "The graders changed" in said and "Deadlines" not in said
    assert causes(graded, "bao")[-1] == "other graders"
    assert f"ada/{NAMES[0]}: 2.5 → 1.25" in said


def test_each_row_has_its_own_cause_if_graders_and_deadlines_change_at_once(graded):
    """New graders that find the same have moved nothing; the deadline has."""
    graded.settings(graders=6, **LATE)
    graded.finds = {"bao": 0.8}
    said = graded.grade().said
    assert "The graders changed" in said and "Deadlines or late penalties changed" in said
    assert set(causes(graded, "ada")) == {"other deadlines"}
    assert set(causes(graded, "bao")) == {"other graders"}


def test_a_later_file_has_moved_its_date_and_no_deadline(graded):
    rule = {"deadlines": {CH1: "2027-01-16 00:00 UTC"}, "share_a_day": 0.5, "most": 0.5}
    graded.settings(**rule)
    assert graded.points()["ada"] == MOST
    graded.put("ada", 1.0, 1_900_000_000, "the same, and a word")
    assert graded.points()["ada"] == MOST / 2
    assert set(causes(graded, "ada")) == {"another file"}


def test_a_resubmission_that_earns_less_is_one_line_and_one_that_earns_more_is_none(graded):
    graded.put("ada", 0.5, text="worse")
    graded.put("bao", 1.0, text="better")
    said = graded.grade().said
    assert f"ada/{CH1}: {MOST} → {MOST / 2:g}" in said and "bao/" not in said


def test_an_older_file_that_replaces_a_newer_one_is_reported(graded):
    graded.put("ada", 1.0, 1_700_000_000, "an older copy")
    (note,) = notes_in(graded.grade().said, "older than")
    assert "2023-11-14 22:13:20 UTC" in note


def test_a_file_on_which_the_graders_failed_is_graded_again(graded):
    graded.put("ada", 1.0, text="new")
    graded.fails = True
    failed = graded.grade(refused=True)
    assert failed.status == 1 and f"failed on ada/{CH1}" in failed.said
    assert "not your fault" in failed.rows["ada", CH1, NAMES[0]]["message"]
    assert failed.rows["bao", CH1, NAMES[0]]["status"] == "partial", "it costs one file"
    graded.fails = False
    assert graded.points()["ada"] == MOST and causes(graded, "ada")[-1] == "graded again"


# --- interruptions and losses --------------------------------------------------------------------


def test_an_interrupted_run_hides_no_move(graded):
    graded.put("bao", 1.0, text="new")
    graded.put("chi", 1.0, text="other")
    graded.left = 1
    with pytest.raises(PowerCut):
        graded.grade()
    graded.left = float("inf")
    graded.put("ada", 0.0)
    graded.grade()
    assert {name: causes(graded, name) for name in SHARES} == dict.fromkeys(
        SHARES, ["another file"] * len(NAMES)
    )


def test_cut_off_at_any_write_the_next_run_completes_it(graded, monkeypatch, tmp_path):
    """While other files are graded again. Each row is there once, each change logged once."""
    before = shutil.copytree(graded.out, tmp_path / "before")
    for name in SHARES:
        graded.put(name, 0.75, text="again")
    expected = graded.grade().rows
    logs = [len(graded.log(name)) for name in SHARES]

    class Cutting(sqlite3.Connection):
        left = 0

        def execute(self, statement, *more):
            is_write = statement.split()[0] in ("INSERT", "UPDATE", "DELETE", "REPLACE", "COMMIT")
            Cutting.left -= is_write
            if Cutting.left < 0:
                raise PowerCut
            return super().execute(statement, *more)

    connect = sqlite3.connect
    cut = 0
    for count in some(range(0, 40, 2), 4):
        shutil.rmtree(graded.out)
        shutil.copytree(before, graded.out)
        Cutting.left = count
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", lambda *a, **b: connect(*a, **b, factory=Cutting))
            try:
                graded.grade()
            except PowerCut:
                cut += 1
        assert graded.grade().rows == expected, count
        assert [len(graded.log(name)) for name in SHARES] == logs, count
    assert cut > 2


CHANGES = {
    "truncated": lambda text: '{"student": "ada',
    "a learner's lines removed": lambda text: "".join(
        line for line in text.splitlines(keepends=True) if "ada" not in line
    ),
    "points changed": lambda text: text.replace('"points": 2.5', '"points": 5.0'),
}


def test_a_changed_results_file_is_reported_restored_and_changes_no_export(graded):
    path = graded.out / "results.jsonl"
    whole, before = path.read_text(), graded.exported("grades.csv")
    assert not notes_in(graded.said, "results.jsonl")
    for name, change in CHANGES.items():
        path.write_text(change(whole))
        assert graded.exported("grades.csv") == before, name
        assert notes_in(graded.said, "results.jsonl is not as the last run left it"), name
        assert notes_in(graded.grade().said, "results.jsonl"), name
        assert path.read_text() == whole, name
    path.unlink()
    graded.grade()
    assert path.read_text() == whole


def test_a_truncated_database_is_one_sentence(graded):
    path = graded.out / "results.sqlite"
    path.write_bytes(path.read_bytes()[:5000])
    assert "is damaged" in graded.grade(refused=True).said
    assert "is damaged" in graded.use("export", refused=True)


def test_results_of_an_earlier_version_are_refused_and_left_unchanged(graded):
    (graded.out / "results.sqlite").unlink()
    (graded.out / "graded.jsonl").write_text('{"student": "ada"}\n')
    before = {path.name: path.read_bytes() for path in graded.out.iterdir()}
    assert "of an earlier version" in graded.grade(refused=True).said
    assert "of an earlier version" in graded.use("export", refused=True)
    assert {path.name: path.read_bytes() for path in graded.out.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_one_sentence_and_costs_nothing(term):
    term.put("ada", 0.5)
    (term.out / "results.tmp").symlink_to("/dev/full")
    assert "No space left" in term.grade(refused=True).said
    (term.out / "results.tmp").unlink(missing_ok=True)
    assert term.points() == {"ada": MOST / 2}


# --- who is in the class, and what it is graded in -----------------------------------------------


def test_learners_come_are_kept_and_are_forgotten_with_their_pages(graded):
    graded.put("dora@uni.edu", 1.0)
    graded.put("ada", 1.0, chapter=CH2)
    assert len(graded.grade().rows) == 4 * (len(NAMES) + len(COURSE.chapter(CH2).exercises))
    graded.use("export", "--to", "html")
    shutil.rmtree(graded.submitted / "dora@uni.edu")
    again = graded.grade()
    assert notes_in(again.said, "earlier results are kept: dora@uni.edu")
    assert ("dora@uni.edu", CH1, NAMES[0]) in again.rows
    assert "no rows of bob" in graded.grade("--forget", "bob", refused=True).said
    assert "dora@uni.edu" not in points_of(graded.grade("--forget", "dora@uni.edu"))
    pages = {path.name for path in (graded.out / "export" / "pages").iterdir()}
    assert pages == {"ada.html", "bao.html", "chi.html"}
    assert "rows deleted" in graded.use("log", "dora@uni.edu")


def test_all_on_the_roster_have_rows_and_others_are_listed(graded):
    roster = graded.write("roster.csv", "student_id", "ada", "bao", "zoe")
    again = graded.grade("--roster", roster)
    assert {again.rows["zoe", CH1, name]["status"] for name in NAMES} == {"not_attempted"}
    assert notes_in(again.said, "not on the roster: chi") and notes_in(again.said, "by zoe")


def test_rows_by_other_graders_of_learners_who_are_gone_are_reported(graded):
    shutil.rmtree(graded.submitted / "bao")
    graded.settings(graders=6)
    (note,) = notes_in(graded.grade().said, "older version")
    assert note.endswith("bao")


@needs("the sandbox")
def test_rows_without_isolation_are_kept_with_a_note_in_an_isolated_run(graded):
    (note,) = notes_in(graded.grade("--isolation", "auto").said, "--isolation none")
    assert "ada, bao, chi" in note
    again = graded.grade("--isolation", "auto", "--forget", "ada").said
    assert "bao, chi" in notes_in(again, "--isolation none")[0]


def test_what_cannot_be_graded_is_one_sentence(graded, monkeypatch):
    archive, file = graded.folder / "m.zip", graded.folder / "a.py"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a", "")
    file.write_text("")
    for submitted, options, said in (
        (graded.submitted, ("--jobs", -1), "--jobs must be"),
        (graded.submitted, ("--device", "gpu"), "one of cpu, cuda, auto"),
        (graded.submitted, ("--device", "cuda"), "finds no CUDA device"),
        (graded.submitted, ("--forget", "ada", "--chapter", CH1), "without --chapter"),
        (graded.submitted, ("--chapter", "ch9"), "ch9"),
        (graded.submitted, ("--out", graded.submitted), "holds the submissions"),
        (graded.submitted, ("--out", file / "out"), "cannot be created"),
        (archive, (), "tensorgrade collect"),
        (file, (), "is not a folder"),
        (graded.folder / "nowhere", (), "there is no folder"),
    ):
        out = () if "--out" in options else ("--out", graded.out)
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        done = graded.run("grade", submitted, *out, *options)
        assert done.returncode == 2 and said in done.stderr, options
        assert done.stderr.startswith("tensorgrade: ") and done.stderr.count("\n") == 1
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    told = ("--device", "cuda", "--isolation")
    assert "a GPU cannot be used in the sandbox" in graded.grade(*told, "auto", refused=True).said
    assert "must be auto or none, not full" in graded.grade(*told, "full", refused=True).said
    graded.grade(*told, "none")


def test_a_level_of_an_earlier_version_means_the_sandbox_and_is_noted(graded):
    graded.settings(more={"isolation": "landlock"})
    told = notes_in(graded.grade("--isolation", "auto").said, "is a level of earlier versions")
    assert told == [
        "note: isolation='landlock' in course_config.py is a level of earlier versions. It means "
        'isolation="sandbox" now'
    ]


def test_results_of_another_course_are_refused(graded):
    graded.settings(more={"name": "another"})
    assert "another" in graded.grade(refused=True).said


def test_what_this_machine_cannot_grade_keeps_its_rows_and_is_graded_by_the_next_run(graded):
    """As after an interrupted run; the others are graded."""
    before = graded.grade().rows
    for name in ("ada", "bao", "dee"):
        graded.put(name, 0.75, text=f"another file by {name}")
    graded.ends = {"bao", "dee"}
    found = graded.grade(refused=True)
    assert found.status == 1
    assert {key[0] for key in found.rows} == {"ada", "bao", "chi"}
    changed = {key[0] for key in before if found.rows[key]["points"] != before[key]["points"]}
    assert changed == {"ada"}
    (note,) = notes_in(found.said, "not graded yet")
    assert note.startswith(f"note: not graded yet: bao/{CH1}, dee/{CH1}, because even")
    assert found.said.strip().endswith(note), "the last line"
    reason = ("--submitted", graded.submitted, "--out", graded.out, "--reason", "why")
    done = graded.run("regrade", "bao", *reason, "--isolation", "none")
    assert done.returncode == 2 and f"not graded yet: bao/{CH1}, because" in done.stderr
    assert not any("graded again by" in line for line in graded.log("bao"))
    graded.ends = set()
    assert points_of(graded.grade())["dee"] == MOST * 0.75


# --- accidents in the middle of a term -----------------------------------------------------------

NEW = CHAPTER.exercises[-1]


def test_an_exercise_that_is_new_in_the_middle_of_a_term_gets_a_row_at_the_next_grading(term):
    term.settings(more={"off": (NEW.name,)})
    for name in ("ada", "bao"):
        term.put(name, 0.5, text=name)
    before = (MOST - NEW.points) / 2
    assert term.points() == {"ada": before, "bao": before}
    term.settings()
    shutil.rmtree(term.submitted / "bao")
    graded = term.grade()
    assert points_of(graded) == {"ada": MOST / 2, "bao": before}, "no row is lost"
    assert ("ada", CH1, NEW.name) in graded.rows and ("bao", CH1, NEW.name) not in graded.rows


def test_a_chapter_that_hardly_any_learner_submitted_is_reported_and_can_be_left_out(term):
    for number in range(12):
        term.put(f"s{number:02}", 1.0, text=str(number))
    term.put("s03", 1.0, chapter=CH2)
    (note,) = notes_in(term.grade().said, "--chapter")
    assert f"only s03 submitted {CH2}, so 11 other" in note
    assert CH1 not in term.exported("grades.csv", "--chapter", CH2)
    shutil.rmtree(term.out)
    again = term.grade("--chapter", CH1)
    assert {chapter for _, chapter, _ in again.rows} == {CH1} and CH2 not in again.said


def test_overrides_follow_a_learner_to_another_name(term):
    term.put("ada@old", 0.5)
    (term.submitted / "ada@old" / ".collected_as").write_text("moodle 12345")
    term.write("overrides.csv", "student,exercise,points,reason", "ada@old,softmax,9,a name")
    term.grade()
    (term.submitted / "ada@old").rename(term.submitted / "ada@new")
    again = term.grade()
    assert {again.rows[name, CH1, "softmax"]["points"] for name in ("ada@old", "ada@new")} == {9.0}
    assert notes_in(again.said, "ada@old is ada@new now")
    assert set(points_of(term.grade("--forget", "ada@old"))) == {"ada@new"}


# --- a regrade -----------------------------------------------------------------------------------


def test_a_regrade_keeps_who_when_and_why_and_prints_a_reply(graded, monkeypatch):
    def again(student="ada", reason="you wrote to me", *more: str):
        told = ("--submitted", graded.submitted, "--out", graded.out, "--isolation", "none")
        return graded.run("regrade", student, *told, "--reason", reason, *more)

    monkeypatch.setattr("getpass.getuser", lambda: "ines")
    graded.finds = {"ada": 0.75}
    reply = again().stdout
    assert "Reason: you wrote to me" in reply and f"{MOST * 0.75:g}" in reply
    assert f"(before: {MOST})" in reply and "bao" not in reply
    assert any("by ines: you wrote to me" in line for line in graded.log("ada"))
    assert "(as before)" in again().stdout
    graded.write("overrides.csv", "student,exercise,points,reason", "ada,softmax,9,a good idea")
    assert "gave 9 points: a good idea" in again().stdout
    for told, said in (
        (("ada", " "), "--reason must say why"),
        (("zoe",), "no rows of zoe"),
        (("ada", "why", "--chapter", CH2), f"no ada/{CH2}/ folder"),
    ):
        done = again(*told)
        assert done.returncode == 2 and said in done.stderr

    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 1234")

    monkeypatch.setattr("getpass.getuser", unknown)
    assert again().returncode == 0 and "by unknown" in graded.use("log", "ada")
