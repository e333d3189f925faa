"""A class's own mistake: three equal wrong answers, a group, a name, a build, and it is named."""

import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tensorgrade.attempts.setup import Setup
from tensorgrade.author.building.parts import Prints
from tensorgrade.author.building.reference_files import Side
from tensorgrade.author.recording.adopted import Adopted, adopt, adopted_file
from tensorgrade.cli.shared import app
from tensorgrade.course import CourseError
from tensorgrade.instructor.grader import Grader
from tensorgrade.instructor.groups import groups_of
from tensorgrade.instructor.ledger import Ledger
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.store import Store
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import stored_form
from tensorgrade.sources.submitted_files import SubmittedFiles

from .small_course import build_exercise

CONFIG = """
from tensorgrade.course import Settings, Tolerance
FLOATS = {"float64": Tolerance(1e-5, 1e-5), "float32": Tolerance(1e-4, 1e-4)}
COURSE = Settings(
    name="tiny", title="Tiny", seed=2**70 + 1, chapters=("ch1_means",),
    tolerances={"cpu": FLOATS, "cuda": FLOATS},
)
"""
LESSON = '''# %% [markdown]
# # Means

# %%
import torch

# %% exercise="row_means"
def row_means(x):
    """Return the mean of each row."""
    ### BEGIN SOLUTION
    return x.mean(dim=1)
    ### END SOLUTION
'''
GRADER = '''"""Cases, tests and known mistakes of row_means."""

from tensorgrade import exercise
from tensorgrade.author import call, case, mistake, normal


def cases(pick):
    """Matrices of several sizes."""
    sizes = pick(public=[(2, 3), (4, 5)], hidden=[(3, 4), (6, 2), (5, 5)])
    return [case(f"values/{n} {m}", call(x=normal(n, m))) for n, m in sizes]


@exercise("row_means", points=4)
def test_row_means_values(attempt):
    """One mean for each row."""
    attempt.row_means.agrees("values")


MISTAKES = [mistake("columns", "The mean runs over columns.", ("dim=1", "dim=0"))]
'''
WRONG = {
    "ada": "    return x.sum(dim=1) / (x.shape[1] + 1)  # Ada wrote this\n",
    "bo": "    n = x.shape[1]\n    return x.sum(1) / (n + 1)\n",
    "cy": "    return torch.stack([row.sum() / (1 + len(row)) for row in x])\n",
    "dee": "    return x.sum(dim=1)\n",
    "eve": "    return x.mean(dim=0)\n",
    "fay": "    return x.mean(dim=1)\n",
    "gus": "    return x.mean(dim=1\n",  # no such text gives anything that others give too
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Project:
    """A course of one exercise, built."""
    root = tmp_path_factory.mktemp("tiny")
    for name in ("solutions", "graders/ch1_means", "graders/mistakes", "exercises"):
        (root / name).mkdir(parents=True)
    (root / "course_config.py").write_text(CONFIG)
    (root / "solutions" / "ch1_means.py").write_text(LESSON)
    (root / "graders" / "ch1_means" / "row_means.py").write_text(GRADER)
    (root / "graders" / "mistakes" / "__init__.py").write_text("MISTAKES = []\n")
    build(Project(root))
    return Project(root)


def build(project: Project, *sides: bool) -> None:
    """References and fingerprints of the one exercise, for learners and for graders."""
    (chapter,) = project.course.chapters
    for hidden in sides or (True, False):
        references, prints = build_exercise(
            str(project.root), chapter.name, "row_means", hidden, "none"
        )
        made = {"row_means": (references, Prints(stored_form(prints)))}
        for file in Side(project, chapter.name, hidden, {}).files(made):
            file.write()


@pytest.fixture(scope="module")
def before(tiny, tmp_path_factory) -> Path:
    """The results of the class before anything is adopted."""
    out = tmp_path_factory.mktemp("before")
    graded(tiny, out)
    return out


def graded(project: Project, out: Path) -> list[dict]:
    """The rows of the whole class."""
    grader = Grader(Setup(project.graders, "none"))
    ledger = Ledger(out, {"ch1_means": "graders"})
    ledger.prepare([])
    try:
        for student, body in WRONG.items():
            code = f"import torch\n\n\ndef row_means(x):\n{body}".encode()
            submitted_files = SubmittedFiles(student, "ch1_means", "ch1_means.py", code)
            ledger.write([(submitted_files, grader.grade(submitted_files))])
        return ledger.finish(["row_means"])
    finally:
        grader.close()
        ledger.lock.file.close()


@pytest.mark.slow
def test_three_equal_wrong_answers_become_a_mistake(tiny, before, tmp_path, monkeypatch):
    rows = {row["student"]: row for row in Store(before).rows()}
    assert {s: row["mistakes"] for s, row in rows.items() if row["mistakes"]} == {
        "eve": ["columns"]
    }
    largest, other = groups_of(list(rows.values()), Store(before))
    assert (largest.students, other.students) == (("ada", "bo", "cy"), ("dee",))
    assert largest.code.startswith("def row_means(x):") and "x.shape[1] + 1" in largest.code
    assert not any(rows[name]["group"] for name in ("eve", "fay", "gus"))
    assert rows["gus"]["status"] == "error" and "code" not in rows["ada"]

    monkeypatch.chdir(tiny.root)
    said = "It divides by one more than there are columns."
    options = ["--name", "one_column_too_many", "--message", said]
    told = CliRunner().invoke(
        app, ["adopt", str(before), largest.name, *options, "--deduction", "0.25", "--preview"]
    )
    assert "ada: 0 of 4 points become 3" in told.output
    assert not adopted_file(tiny, "ch1_means", "row_means").exists()
    run = CliRunner().invoke(app, ["adopt", str(before), largest.name, *options])
    assert run.exit_code == 0 and "tensorgrade build" in run.output
    assert "ada: 0 of 4 points stay" in run.output
    build(tiny)

    after = {row["student"]: row for row in graded(tiny, tmp_path)}
    for student in ("ada", "bo", "cy"):
        assert after[student]["mistakes"] == ["one_column_too_many"]
        assert after[student]["message"] == said
        assert after[student]["points"] == rows[student]["points"], "nobody's points moved"
    assert after["dee"]["mistakes"] == [] and after["fay"]["points"] == 4


@pytest.mark.slow
def test_the_report_shows_groups_and_the_anonymous_one_nobody(tiny, before):
    named = write_report(before, tiny.course).read_text(encoding="utf-8")
    assert "Wrong answers without a name" in named and "3 learners" in named
    assert "# Ada wrote this" in named and "ada, bo, cy" in named
    hidden = write_report(before, tiny.course, hide_names=True).read_text(encoding="utf-8")
    assert "3 learners" in hidden and "x.shape[1] + 1" in hidden
    assert not re.search(r"\bada\b", hidden, re.IGNORECASE)


@pytest.mark.slow
def test_a_forgotten_learners_code_is_forgotten_too(before, tmp_path):
    shutil.copytree(before, tmp_path, dirs_exist_ok=True)
    ledger = Ledger(tmp_path, {"ch1_means": "graders"})
    ledger.prepare([], forget=["ada"])
    kept = Store(tmp_path).unnamed().values()
    assert kept and "ada" not in {record["student"] for record in kept}


@pytest.mark.parametrize(
    "name, message, why",
    [
        ("columns", "It is.", "is taken"),
        ("two words", "It is.", "is not a name"),
        ("fine", "", "the message has 0 characters"),
        ("fine", "It is. " * 30, "the message has 210 characters"),
    ],
)
def test_what_cannot_be_adopted_is_refused_in_a_sentence(tiny, name, message, why):
    with pytest.raises(CourseError, match=why):
        adopt(tiny, "ch1_means", "row_means", Adopted(name, message, "def row_means(x): pass"))


@pytest.mark.parametrize("group", ["", "no such group", "..", "{}"])
def test_a_group_that_is_not_there_is_reported(tiny, tmp_path, monkeypatch, group):
    from tensorgrade.instructor.groups import representative

    with pytest.raises(CourseError, match="holds no group"):
        representative(tmp_path, group)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, looks", [("x.mean(dim=1)", "a right answer"), ("x.mean(dim=0)", "columns")]
)
def test_what_looks_like_something_else_stops_the_build(tiny, tmp_path, body, looks):
    source = f"def row_means(x):\n    return {body}\n"
    path = adopted_file(tiny, "ch1_means", "row_means")
    text = path.read_text() if path.exists() else "[]"
    adopt(tiny, "ch1_means", "row_means", Adopted("nothing_new", "It is.", source))
    try:
        with pytest.raises(CourseError, match=f"adopted, looks like {looks}"):
            build(tiny, True)
    finally:
        path.write_text(text)
