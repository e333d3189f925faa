"""Results from one run to the next: what changed and why, what is lost, and what is kept."""

import shutil
import sqlite3
import zipfile

import pytest

from ..support import some
from .runs import CH1, CH2, CHAPTER, COURSE, MOST, NAMES, PowerCut, notes_in, points_of

pytestmark = pytest.mark.slow
SHARES = {"ada": 1.0, "bao": 0.5, "chi": 0.0}
LATE = {"deadlines": {CH1: "2020-01-01 00:00 UTC"}, "share_a_day": 0.5, "most": 0.5}


@pytest.fixture
def graded(term):
    """A class of three that was graded once."""
    for student, share in SHARES.items():
        term.put(student, share, text=student)
    term.before = term.grade()
    return term


def causes(term, student: str) -> list[str]:
    """Return the causes of a learner's changes, as the log names them."""
    lines = [line for line in term.log(student) if " → " in line]
    return [line.rpartition("(")[2].rstrip(")") for line in lines]


# --- what changed, and why -----------------------------------------------------------------------


def test_files_deadlines_and_graders_are_told_apart(graded):
    graded.put("bao", 1.0)
    assert "differ" not in graded.grade().said, "learners may get better"
    assert set(causes(graded, "bao")) == {"another file"} and causes(graded, "ada") == []
    graded.settings(**LATE)
    assert "late work: points of 2 submissions differ" in graded.grade().said
    assert causes(graded, "ada") == ["late work"] * len(NAMES)
    graded.settings(graders=6, **LATE)
    graded.finds = {"ada": 0.5, "bao": 0.8}
    said = graded.grade().said
    assert "other graders: points of" in said and "late work" not in said
    assert causes(graded, "bao")[-1] == "other graders"
    assert f"ada/{CH1}: {MOST / 2:g} → {MOST / 4:g}" in said
    config = graded.course / "course_config.py"
    text = config.read_text(encoding="utf-8").replace('title="', 'title="New: ')
    config.write_text(f"{text}\nCOLOUR = 'blue'\n", encoding="utf-8")
    assert "3 of them graded before" in graded.grade().said, "a title is no other grader"


def test_a_file_that_earns_less_is_listed_and_an_earlier_one_is_not_graded_again(graded):
    graded.put("ada", 0.5, text="worse")
    graded.put("bao", 1.0, text="better")
    said, change = graded.grade().said, f"{MOST} → {MOST / 2:g}"
    assert f"another file: points of 1 submission differ\n  ada/{CH1}: {change}" in said
    assert "bao/" not in said
    path = graded.put("ada", 1.0, text="ada")
    again = graded.grade()
    assert points_of(again)["ada"] == MOST and "3 of them graded before" in again.said
    graded.settings(deadlines={CH1: "2027-01-16 00:00 UTC"}, share_a_day=0.5, most=0.5)
    (path.parent / "timestamp.txt").write_text("2027-01-17 08:00:00 UTC")
    again = graded.grade()
    assert points_of(again)["ada"] == MOST / 2, "a corrected time counts at once"
    assert "3 of them graded before" in again.said and causes(graded, "ada")[-1] == "late work"


def test_a_file_on_which_the_graders_failed_is_graded_again(graded):
    graded.put("ada", 1.0, text="new")
    graded.fails = True
    failed = graded.grade(refused=True)
    assert failed.status == 1 and f"ada/{CH1} {NAMES[0]}: error. Grading this file" in failed.said
    assert "not your fault" in failed.rows["ada", CH1, NAMES[0]]["message"]
    assert failed.rows["bao", CH1, NAMES[0]]["status"] == "partial", "it costs one file"
    graded.fails = False
    assert graded.points()["ada"] == MOST and causes(graded, "ada")[-1] == "graded again"


def test_one_learner_is_graded_again_and_nothing_is_deleted(graded):
    graded.finds = dict.fromkeys(SHARES, 0.75)
    again = graded.grade("--student", "ada")
    assert points_of(again) == {"ada": MOST * 0.75, "bao": MOST / 2, "chi": 0.0}
    assert set(causes(graded, "ada")) == {"graded again"}
    assert sum("points found" in line for line in graded.log("ada")) == 2
    shutil.rmtree(graded.submitted / "ada")
    for name in ("ada", "zoe"):
        assert f"no {name}/<chapter>/" in graded.grade("--student", name, refused=True).said
    assert "no rows of zoe" in graded.use("log", "zoe", refused=True)


# --- interruptions and losses --------------------------------------------------------------------


def test_an_interrupted_run_hides_no_change_and_says_what_is_left(graded):
    for name in ("bao", "chi", "dee"):
        graded.put(name, 1.0, text=f"new from {name}")
    graded.left = 1
    with pytest.raises(PowerCut):
        graded.grade()
    left = graded.use("export", refused=True)
    assert f"2 submissions are not graded yet: chi/{CH1}, dee/" in left and "--partial" in left
    lines = graded.exported("grades.csv", "--partial").splitlines()
    assert f"chi,{CH1},0,{MOST}," in lines[3].replace(".0", ""), "the points that it had"
    assert "their new points are not in the export" in graded.said
    assert "; 2 not graded yet" in graded.page()
    graded.left = float("inf")
    graded.put("ada", 0.0)
    shutil.rmtree(graded.submitted / "dee")
    graded.grade()
    changed = dict.fromkeys(SHARES, ["another file"] * len(NAMES))
    assert {name: causes(graded, name) for name in SHARES} == changed
    assert "not graded yet" not in graded.use("export") + graded.page()
    assert "dee" not in graded.exported("grades.csv"), "who leaves stops no export"


def test_cut_off_at_any_write_the_next_run_completes_it(graded, monkeypatch, tmp_path):
    """While other files are graded again."""
    before = shutil.copytree(graded.out, tmp_path / "before")
    for name in SHARES:
        graded.put(name, 0.75, text="again")
    expected = graded.grade().rows

    class Cutting(sqlite3.Connection):
        left = 0

        def execute(self, statement, *more):
            Cutting.left -= statement.startswith("INSERT")
            if Cutting.left < 0:
                raise PowerCut
            return super().execute(statement, *more)

    connect = sqlite3.connect
    cut = 0
    for count in some(range(8), 4):
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
        assert set(causes(graded, "ada")) == {"another file"}, count
    assert cut > 2


def test_two_runs_at_once_give_the_rows_of_one(graded, monkeypatch):
    """The second one starts and ends while the first one grades."""
    expected = {name: row["points"] for (name, *_), row in graded.before.rows.items()}
    shutil.rmtree(graded.out)
    graded.out.mkdir()
    workers, second = graded.workers, []

    def disturbed(*told):
        if not second:
            second.append("runs")
            graded.grade()
        return workers(*told)

    monkeypatch.setattr("tensorgrade.instructor.run.workers_for", disturbed)
    rows = graded.grade().rows
    assert {name: row["points"] for (name, *_), row in rows.items()} == expected
    assert len(rows) == 3 * len(NAMES) and causes(graded, "ada") == []


def test_results_jsonl_is_an_export(graded):
    """No command reads points from it, and every run writes it again."""
    path = graded.out / "results.jsonl"
    whole, before = path.read_text(), graded.exported("grades.csv")
    for text in ('{"student": "ada', whole.replace('"points": 2.5', '"points": 5.0'), None):
        path.write_text(text) if text else path.unlink()
        assert graded.exported("grades.csv") == before
        graded.grade()
        assert path.read_text() == whole


def run_sql(path, statement: str) -> None:
    """Change the results by hand."""
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()


def test_damaged_results_are_one_sentence_and_those_of_another_version_stay_unchanged(graded):
    path = graded.out / "results.sqlite"
    whole = path.read_bytes()
    for damage in (
        lambda: path.write_bytes(whole[:5000]),
        lambda: path.write_bytes(b"x" * 5000),
        lambda: run_sql(path, "DROP TABLE attempts"),
        lambda: run_sql(path, 'UPDATE attempts SET rows = \'[{"student": "ada"\''),
    ):
        path.write_bytes(whole)
        damage()
        for command in ("report", "export"):
            said = graded.use(command, refused=True)
            assert "results.sqlite" in said and said.count("\n") == 1, said
    path.write_bytes(whole)
    for version in (1, 9, None):
        if version is None:
            path.unlink()
        else:
            run_sql(path, f"PRAGMA user_version = {version}")
        before = {path.name: path.read_bytes() for path in graded.out.iterdir()}
        for said in (graded.grade(refused=True).said, graded.use("export", refused=True)):
            assert " version" in said and " holds results of " in said
        assert {path.name: path.read_bytes() for path in graded.out.iterdir()} == before


def test_a_full_disk_and_a_read_only_folder_are_one_sentence_and_cost_nothing(graded, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    graded.put("ada", 0.5, text="new")
    with monkeypatch.context() as patch:
        patch.setattr("tensorgrade.folders.os.replace", full)
        assert "No space left" in graded.grade(refused=True).said
    connect = sqlite3.connect

    def read_only(where, *told, **more):
        where = where.replace("mode=rwc", "mode=ro").replace("mode=rw", "mode=ro")
        return connect(where, *told, **more)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", read_only)
        assert "readonly database" in graded.grade("--student", "bao", refused=True).said
        assert graded.log("bao")[-1] == f"{CH1}: {MOST / 2:g} of {MOST} points count"
    assert graded.points() == {"ada": MOST / 2, "bao": MOST / 2, "chi": 0.0}


def test_results_are_private_and_hold_little_of_a_large_file(term, monkeypatch):
    """Only the definition of an answer without a known mistake is stored, and its beginning."""
    text = f"def {NAMES[0]}(x):\n" + "    x = x + 1\n" * 50_000
    verdict = "tensorgrade.attempts.verdict.Verdict.__post_init__"
    monkeypatch.setattr(verdict, lambda self: vars(self).update(group="g", code=text))
    term.out = term.folder / "new"
    term.put("ada", 0.5)
    term.grade()
    assert [path.stat().st_mode & 0o077 for path in (term.out, *term.out.iterdir())] == [0] * 4
    assert f'<pre class="scroll">def {NAMES[0]}(x):' in term.page()
    assert (term.out / "results.sqlite").stat().st_size < 100_000


# --- who is in the class, and what it is graded in -----------------------------------------------


def test_learners_and_chapters_come_and_are_kept(graded):
    graded.put("dora@uni.edu", 1.0)
    graded.put("ada", 1.0, chapter=CH2)
    assert {chapter for _, chapter, _ in graded.grade("--chapter", CH1).rows} == {CH1}
    assert f"no rows of {CH2}" in graded.use("export", "--chapter", CH2, refused=True)
    assert len(graded.grade().rows) == 4 * (len(NAMES) + len(COURSE.chapter(CH2).exercises))
    shutil.rmtree(graded.submitted / "dora@uni.edu")
    graded.settings(graders=6)
    roster = graded.write("roster.csv", "student_id", "ada", "bao", "zoe")
    again = graded.grade("--roster", roster)
    assert notes_in(again.said, "earlier results are kept: dora@uni.edu")
    assert ("dora@uni.edu", CH1, NAMES[0]) in again.rows
    assert {again.rows["zoe", CH1, name]["status"] for name in NAMES} == {"not_attempted"}
    assert notes_in(again.said, "not on the roster: chi") and notes_in(again.said, f"{CH1}: zoe")


def test_what_cannot_be_graded_is_one_sentence(graded, monkeypatch):
    archive, file = graded.folder / "m.zip", graded.folder / "a.py"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("a", "")
    file.write_text("")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for submitted, options, said in (
        (graded.submitted, ("--device", "gpu"), "one of cpu, cuda, auto"),
        (graded.submitted, ("--device", "cuda"), "finds no CUDA device"),
        (graded.submitted, ("--chapter", "ch9"), "ch9"),
        (graded.submitted, ("--out", graded.submitted), "holds the submissions"),
        (graded.submitted, ("--out", file / "out"), "a.py/out: Not a directory"),
        (archive, (), "tensorgrade collect"),
        (graded.folder / "nowhere", (), "nowhere cannot be read"),
    ):
        out = () if "--out" in options else ("--out", graded.out)
        done = graded.run("grade", submitted, *out, *options)
        assert done.returncode == 2 and said in done.stderr, options
        assert done.stderr.startswith("tensorgrade: ") and done.stderr.count("\n") == 1
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    told = ("--device", "cuda", "--isolation")
    assert "a GPU cannot be used in the sandbox" in graded.grade(*told, "auto", refused=True).said
    assert "must be auto or none, not full" in graded.grade(*told, "full", refused=True).said
    graded.grade(*told, "none")
    graded.settings(most_attempts=3)
    said = graded.grade(refused=True).said
    assert "course_config.py:" in said and "most_attempts" in said


def test_what_this_machine_cannot_grade_keeps_its_rows_and_is_graded_by_the_next_run(graded):
    """As after an interrupted run; the others are graded."""
    before = graded.before.rows
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
    graded.ends = set()
    assert points_of(graded.grade())["dee"] == MOST * 0.75


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
