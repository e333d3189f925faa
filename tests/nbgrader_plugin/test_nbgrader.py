"""The nbgrader cycle with nbgrader's own commands, for one class in one scratch course.

Honest learners, cheats, and spoilt, hostile and late notebooks are graded together, once.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config.loader import PyFileConfigLoader

from tensorgrade.attempts.verdict import Verdict
from tensorgrade.nbgrader_plugin.autograding import STATES, graded_card

from ..instructor.faults import end_processes_of_canaries
from ..support import ROOT, cli, require, rows_of, write_patch_without_isolation
from .notebooks import (
    CHEATS,
    CODE,
    MUTATED,
    NONE,
    RIGHT,
    acting,
    cheats,
    noisy,
)
from .scratch import CH1, COURSE, EXERCISES, MOST, SANDBOX, WRONG, Scratch, changed, read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]
LATE = f'deadlines={{"{CH1}": "2026-01-15 23:59 UTC"}}, share_a_day=0.2, grace_seconds=600'
DAYS = {"early": 15, "late": 16, "later": 17}
HONEST = ("aaa", "zzz")
LOADED = re.compile(r"""src=["']?(https?:)?//|<link[^>]*https?:|@import|url\(["']?https?:""")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory) -> Scratch:
    """The class, released, collected and graded, with a feedback page for each learner."""
    scratch = Scratch(tmp_path_factory.mktemp("nbgrader"), lateness=LATE)
    scratch.run("generate_assignment", CH1, "--force")
    scratch.run("release_assignment", CH1)
    for name in ("ada", "ben", "script"):
        folder = scratch.learner(name, "fetch_assignment")
        assert (folder / "checks.zip").is_file()
        if name == "ada":
            nbformat.write(read("source"), folder / f"{CH1}.ipynb")
        if name == "script":  # nbgrader grades the untouched notebook beside it
            shutil.copy(ROOT / "solutions" / f"{CH1}.py", folder)
        scratch.learner(name, "submit")
    scratch.run("collect", CH1)
    scratch.learner("ben", "submit")
    assert "Updating submission" in scratch.run("collect", CH1, "--update")
    others = {"noisy": noisy(), "acting": acting(), "code": CODE}
    broken = changed({"softmax": "def softmax(:"}, "source")
    others |= dict.fromkeys(HONEST, read("source")) | {"broken_cell": broken}
    for group in (cheats(scratch.root), RIGHT, NONE, MUTATED, others):
        for name, notebook in group.items():
            assert not (scratch.root / "submitted" / name).exists(), "a name for two"
            scratch.hand_in(name, notebook)
    for name, day in DAYS.items():
        scratch.hand_in(name, changed(WRONG, "source"), when=f"2026-01-{day}")
    linked = scratch.hand_in("linked", "")
    linked.unlink()
    linked.symlink_to(scratch.root / "source" / CH1 / f"{CH1}.ipynb")
    scratch.said = scratch.run("autograde", CH1)
    scratch.run("generate_feedback", CH1)
    scratch.run("release_feedback", CH1)
    scratch.fetched = scratch.learner("ada", "fetch_feedback") / "feedback"
    return scratch


@pytest.fixture(scope="module")
def scores(scratch) -> dict[str, float]:
    return scratch.scores()


def test_what_is_released_is_what_the_course_has_built(scratch):
    released = scratch.root / "release" / CH1 / f"{CH1}.ipynb"
    assert released.read_text() == (ROOT / "release" / CH1 / f"{CH1}.ipynb").read_text()
    for chapter in MOST:
        with zipfile.ZipFile(ROOT / "release" / chapter / "checks.zip") as archive:
            assert archive.testzip() is None


def test_everybody_has_points(scratch, scores):
    assert "does not exist in the database" not in scratch.said
    whole = ["ada", "noisy", "acting", *HONEST, *RIGHT]
    nothing = ["ben", "script", "linked", *NONE]
    expected = dict.fromkeys(whole, MOST[CH1]) | dict.fromkeys(nothing, 0.0)
    expected |= {"broken_cell": MOST[CH1] - 10}
    assert {name: scores[name] for name in expected} == expected
    others = scores.keys() - expected
    assert others >= {*CHEATS, *MUTATED, *DAYS, "plain", "code"}
    assert all(0 <= scores[name] <= MOST[CH1] for name in others)
    assert f"text/{CH1}/{CH1}.ipynb could not be graded" in scratch.said


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_scores_as_the_wrong_answer_that_it_is(scores, name):
    if name == "reader":  # without isolation, learner code can read what the grader can read
        require("the sandbox")
    assert scores["plain"] < 5 and scores[name] == scores["plain"]


def test_no_kernel_ran(scratch):
    """Only graded cells have outputs: nothing else was executed."""
    with_outputs = {cell.id for cell in scratch.autograded("noisy").cells if cell.get("outputs")}
    assert with_outputs == {f"points-{name}" for name in EXERCISES}


def test_everybody_has_a_page_and_files_that_are_no_notebooks_show_a_reason(scratch, scores):
    assert all(scratch.page(name) for name in scores)
    assert all("This notebook earns no points" in scratch.page(name) for name in (*NONE, "linked"))
    (fetched,) = scratch.fetched.rglob("*.html")
    assert "✓ right" in fetched.read_text(encoding="utf-8")
    said = scratch.page("aaa")
    assert said.count("✓ right") == said.count("border-left:6px solid #2e7d32") == len(EXERCISES)


def test_what_takes_long_to_render_is_shown_as_it_was_written(scratch):
    assert "<pre>[[[[[" in scratch.page("brackets")
    assert "<pre>a.a.a." in scratch.page("code") and "<h1" in scratch.page("headings")


def the_formgraders(scratch: Scratch, name: str) -> str:
    """Return the page that the formgrader shows of a submission, with the course's settings."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(scratch.root)).load_config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    path = scratch.root / "autograded" / name / CH1 / f"{CH1}.ipynb"
    told = dict.fromkeys(("assignment_id", "notebook_id", "submission_id", "base_url"), CH1)
    told |= {"student": name, "first_name": name, "last_name": name, "notebook_path": CH1}
    resources = told | {"index": 0, "total": 1}
    return HTMLExporter(config=config).from_filename(str(path), resources=resources)[0]


@pytest.mark.parametrize("page", [Scratch.page, the_formgraders])
def test_nothing_in_a_page_acts_and_what_is_harmless_stays(scratch, page):
    ours, said = (page(scratch, name) for name in ("aaa", "acting"))
    for acts in ("<script", "<iframe", "<form", "<style", "<svg"):
        assert said.lower().count(acts) == ours.lower().count(acts), acts
    own, body = (text[text.index("<body") :] for text in (ours, said))
    acts = re.compile(r"<[^>]*\son\w+\s*=")
    assert set(acts.findall(body)) <= set(acts.findall(own))
    assert not re.search(r"<img[^>]*x\.org", body) and not re.search(r"<[^>]*id=.?imit", body)
    links = r"""<[^>]*(href|src)=["']?\s*(javascript|data:text|data:image/svg)"""
    assert not re.search(links, body, re.IGNORECASE)
    assert "<strong>bold</strong>" in said and "<code>&lt;script&gt;</code>" in said
    assert "<h2" in said and "<table" in ours.lower()
    assert page is the_formgraders or ("<math>" in ours and not LOADED.search(said))


def test_feedback_shows_code_cards_and_points_and_reveals_nothing(scratch, scores, judge):
    page = scratch.page("plain")
    assert "torch" in page and "not begun" in page and f"Score: {scores['plain']}" in page
    outputs = [one for cell in scratch.autograded("plain").cells for one in cell.get("outputs", [])]
    cards = "\n".join(output.data["text/html"] for output in outputs)
    said = re.sub(r"[\d.]+ of \d+ points", "", re.sub(r"<[^>]+>", "", cards))
    # Numbers may be shown only if a row of any other graded class has them too.
    stub = (ROOT / "exercises" / f"{CH1}.py").read_text(encoding="utf-8")
    rows = judge.chapter(CH1, f"{stub}\n\n{WRONG['softmax_naive']}\n")
    messages = " ".join(row.message for row in rows.values())
    assert [one for one in re.findall(r"\d+\.\d{2,}", said) if one not in messages] == []
    files = sorted((ROOT / "graders" / CH1).glob("*.py"))
    tests = "\n".join(path.read_text(encoding="utf-8") for path in files)
    solution = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")
    solved = re.findall(r"### BEGIN SOLUTION\n(.*?)### END", solution, re.DOTALL)
    secret = re.findall(r'"""(.+?)"""', tests) + re.findall(r"def (test_\w+)", tests)
    secret += [line.strip() for text in solved for line in text.splitlines() if line.strip()]
    shown = (ROOT / "release" / CH1 / f"{CH1}.ipynb").read_text()
    plain = re.sub(r"<[^>]+>", "", page)
    assert len(secret) > 20
    assert not [text for text in secret if text in plain and text not in shown]


def test_late_work_loses_the_same_by_both_commands(scratch, scores, tmp_path):
    """`nbgrader autograde` and `tensorgrade grade` on one folder: the deadline said once."""
    autograded = scratch.scores(kind="score")
    for name in DAYS:
        shutil.copytree(scratch.root / "submitted" / name, tmp_path / "submitted" / name)
    words = (tmp_path / "submitted", "--out", tmp_path / "out", "--isolation", SANDBOX)
    done = cli("grade", *words, "--jobs", 1, cwd=scratch.root)
    assert done.returncode == 0, done.stdout + done.stderr
    graded = dict.fromkeys(DAYS, 0.0)
    for (student, *_), row in rows_of(tmp_path / "out").items():
        graded[student] += row["points"]
    assert graded == pytest.approx({name: autograded[name] for name in DAYS}, abs=1e-4)
    earned = graded["early"]
    assert 0 < earned < MOST[CH1] and scores["late"] == pytest.approx(earned)
    assert (graded["late"], graded["later"]) == pytest.approx((0.8 * earned, 0.6 * earned))


# From here on the tests change what the class has.


def test_the_button_of_the_formgrader_and_a_second_run_give_the_same(scratch):
    """The formgrader calls nbgrader's Python interface from inside a server."""
    before = scratch.grades()
    scratch.ask(("autograde", CH1, "plain"))
    said = scratch.run("autograde", CH1, "--force", "--student", "late")
    assert "Removing existing assignment" in said and scratch.grades() == before


def test_manual_points_and_comments_stay(scratch):
    with Gradebook(f"sqlite:///{scratch.root}/gradebook.db") as gradebook:
        grade = gradebook.find_grade("points-softmax", CH1, CH1, "ben")
        grade.manual_score = 3.0
        gradebook.find_comment("softmax", CH1, CH1, "ben").manual_comment = "Nice try."
        gradebook.db.commit()
    scratch.run("autograde", CH1, "--force", "--student", "ben")
    assert scratch.scores()["ben"] == 3.0
    scratch.run("generate_feedback", CH1, "--force", "--student", "ben")
    assert "Nice try." in scratch.page("ben")


def test_without_isolation_grading_refuses(scratch, monkeypatch):
    scratch.hand_in("unsafe", read("source"))
    config, folder = scratch.root / "course_config.py", scratch.root / "patched"
    text = config.read_text(encoding="utf-8")
    write_patch_without_isolation(folder)
    config.write_text(text.replace('isolation = "none"', 'isolation = "auto"'), "utf-8")
    words = ("autograde", CH1, "--student", "unsafe")
    said = scratch.run(*words, succeed=False, PYTHONPATH=f"{folder}{os.pathsep}{ROOT}")
    config.write_text(text, encoding="utf-8")
    assert "learner code can read the solutions" in said and not scratch.scores().get("unsafe")


def test_a_file_that_this_machine_cannot_grade_is_an_error_without_points(scratch, tmp_path):
    """nbgrader names it and grades the others; after that, the same command grades it."""
    ends = "def softmax(x):\n    import os\n    os._exit(1)"
    scratch.hand_in("ends", changed({"softmax": ends}, "source"))
    words = ("autograde", CH1, "--student", "ends")
    said = scratch.run(*words, succeed=False, **end_processes_of_canaries(tmp_path, 1))
    assert f"{CH1} of ends is not graded: even the course's own solution" in said
    assert not scratch.scores().get("ends")
    assert not (scratch.root / "autograded" / "ends" / CH1).exists()
    scratch.run(*words)
    assert scratch.scores()["ends"] == MOST[CH1] - 10


def test_a_chapter_that_was_released_again_keeps_old_submissions_gradable(scratch):
    """Lessons and points may change; if cells come or go, nbgrader refuses and says why."""
    source = scratch.root / "source" / CH1 / f"{CH1}.ipynb"
    nb = nbformat.read(source, as_version=4)
    cells = {cell.id: cell for cell in nb.cells}
    cells["points-softmax"].metadata.nbgrader.points = 20
    cells["step-1-compare"].source += "\n\nA new sentence."
    nbformat.write(nb, source)
    scratch.run("generate_assignment", CH1, "--force")
    scratch.run("autograde", CH1, "--force", "--student", "ada")
    assert scratch.scores()["ada"] == MOST[CH1] + 10
    assert "A new sentence." in str(scratch.autograded("ada"))
    nb.cells.remove(cells["points-softmax"])
    nbformat.write(nb, source)
    said = scratch.run("generate_assignment", CH1, "--force", succeed=False)
    assert "because there are submissions associated with it" in " ".join(said.split())


def test_the_page_has_the_commands_that_were_typed(scratch):
    page = (ROOT / "docs" / "how-to" / "nbgrader.md").read_text(encoding="utf-8")
    told = re.findall(r"^nbgrader (\w+(?: ch\w+)?(?: --\w+)?)(?:  |$)", page, re.MULTILINE)
    scratch.run("export")
    assert told and set(told) <= scratch.typed


def test_every_status_has_a_card_in_words():
    told = {"mistakes": [], "message": "It <b>sums</b> the columns."}
    for status, (words, _) in STATES.items():
        for isolation in ("sandbox", "none"):
            verdict = Verdict("ada", CH1, "softmax", 2.5, 10, status, isolation=isolation, **told)
            card = graded_card(verdict.row(), 2.5, 10)
            assert words in card and "2.5 of 10 points" in card
            assert "&lt;b&gt;sums" in card and "<script" not in card
            assert ("without isolation" in card) == (isolation == "none")


def test_nbgrader_itself_never_imports_torch():
    """It may run in a Jupyter server, and the grading process needs torch only once."""
    code = "import tensorgrade.nbgrader_plugin.autograding, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.proof
def test_solutions_get_everything_and_releases_nothing_in_every_chapter(tmp_path):
    scratch = Scratch(tmp_path)
    expected: dict[tuple[str, str], float] = {}
    for chapter in COURSE.chapters:
        name, points = chapter.name, MOST[chapter.name]
        scratch.hand_in("ada", read("source", name), name)
        scratch.hand_in("ben", read("release", name), name)
        expected |= {("ada", name): points, ("ben", name): 0.0}
    calls = [("generate_assignment", chapter.name) for chapter in COURSE.chapters]
    calls += [("autograde", chapter, student) for student, chapter in expected]
    scratch.ask(*calls)
    rows = scratch.grades()
    assert {one: float(rows[one]["raw_score"]) for one in expected} == expected
