"""The second course stands alone: it is fresh, proved, graded, handed out, and runs in nbgrader."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.author.building.derive import derive
from tensorgrade.author.proofs.sample_class import Choice, assemble, write_sample_class
from tensorgrade.instructor.grader import Grader
from tensorgrade.project import Project
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..commands import ROOT, points_in_nbgrader, run

COURSE = ROOT / "courses" / "tokens"
CH1, CH2 = "ch1_byte_pairs", "ch2_batches"
LEFT = shutil.ignore_patterns("__pycache__", ".*")
MADE = {
    "right": {},
    "one": {"merge_pair": ("steps_over_one",), "shifted_windows": ("targets_not_moved",)},
    "more": {"count_pairs": ("pairs_side_by_side",), "decode": ("byte_by_byte",)},
    "class": {"Vocabulary": ("words_learned_while_encoding",), "encode": ("merges_by_pair",)},
}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The course in a folder of its own, with nothing of this repository beside it."""
    root = tmp_path_factory.mktemp("alone") / "tokens"
    shutil.copytree(COURSE, root, ignore=LEFT)
    return root


def tensorgrade(course: Path, *arguments: object) -> str:
    """A command in the course's folder; returns what it said."""
    done = run("tensorgrade.cli", *arguments, cwd=course)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_has_at_least_seven_exercises_with_several_mistakes_each():
    project = Project(COURSE)
    names = [exercise.name for chapter in project.course.chapters for exercise in chapter.exercises]
    assert len(names) >= 7
    for name in names:
        assert sum(name in mistake.edits for mistake in project.mistakes) >= 5, name


LOWEST_FIRST = """
def encode(text, merges):
    ids = list(text.encode("utf-8"))
    while len(ids) > 1:
        pair = min(count_pairs(ids), key=lambda one: merges.get(one, float("inf")))
        if pair not in merges:
            break
        ids = merge_pair(ids, pair, merges[pair])
    return ids
"""


@pytest.mark.slow
def test_merging_the_pair_with_the_lowest_id_first_is_right():
    """Training numbers its merges, so their ids have the order of learning too."""
    project, grader = Project(COURSE), Grader(Setup(COURSE / "graders", "none"))
    text = project.solution(CH1).read_text(encoding="utf-8") + LOWEST_FIRST
    rows = grader.grade(SubmittedFiles("ada", CH1, f"{CH1}.py", text.encode()))
    grader.close()
    assert {row.exercise: row.points for row in rows}["encode"] == 9


@pytest.mark.slow
def test_what_is_derived_is_fresh(course):
    """A build without changes rebuilds nothing, in any folder."""
    assert [str(file.path) for file in derive(Project(course)) if not file.fresh()] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_it_is_proved(course):
    assert "The solutions pass" in tensorgrade(course, "build", "--check")
    assert "Every mistake is detected" in tensorgrade(course, "kill-matrix", "--check")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_class_gets_its_verdicts(course, tmp_path):
    project = Project(course)
    for student, mistakes in MADE.items():
        for chapter in project.course.chapters:
            choices = [Choice(e.name, mistakes.get(e.name, ())) for e in chapter.exercises]
            path = tmp_path / "submitted" / student / chapter.name / f"{chapter.name}.py"
            path.parent.mkdir(parents=True)
            path.write_text(assemble(project, chapter.name, choices), encoding="utf-8")
    assert write_sample_class(project, tmp_path / "submitted", 5) == 10
    options = ("--out", tmp_path / "out", "--isolation", "none", "--jobs", "1")
    tensorgrade(course, "grade", tmp_path / "submitted", *options)
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").open()]
    assert len(rows) == 9 * 7
    messages = {mistake.name: mistake.message for mistake in project.mistakes}
    for row in rows:
        if row["student"] not in MADE:
            continue
        expected = MADE[row["student"]].get(row["exercise"], ())
        later = row["student"] in ("one", "more") and row["exercise"] in ("train_bpe", "encode")
        if not later:  # these call a function that is wrong
            assert tuple(row["mistakes"]) == expected, row
            assert (row["status"] == "passed") == (not expected), row
        if expected:
            assert row["message"] == messages[expected[0]]


@pytest.mark.slow
def test_the_kit_holds_nothing_hidden_and_checks_itself(course, tmp_path):
    tensorgrade(course, "bundle", "--out", tmp_path / "kit.zip")
    with zipfile.ZipFile(tmp_path / "kit.zip") as kit:
        kit.extractall(tmp_path)
    names = {str(path.relative_to(tmp_path / "kit")) for path in (tmp_path / "kit").rglob("*")}
    assert f"exercises/{CH1}.py" in names and f"notebooks/{CH2}.ipynb" in names
    assert not [name for name in names if name.startswith(("graders", "solutions", "source"))]
    for path in (tmp_path / "kit" / "exercises").glob("*.py"):
        assert "BEGIN SOLUTION" not in path.read_text(encoding="utf-8")
    kit = tmp_path / "kit"
    options = {"cwd": kit}
    right = run("pytest", "-q", "exercises", "--attempt", course / "solutions", **options)
    assert right.returncode == 0, right.stdout
    stub = run("pytest", "-q", "exercises", **options)
    assert stub.returncode == 1 and "0 of 69 points" in stub.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_nbgrader_makes_and_grades_it(course):
    assert points_in_nbgrader(course, CH2) == {"ada": 22, "bo": 0}
