"""Points are next to the tests; the settings may scale them, and each test keeps its share."""

import shutil
from pathlib import Path

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.author.building.notebooks import notebook_text
from tensorgrade.author.building.script import read_script
from tensorgrade.instructor.grader import Grader
from tensorgrade.learner.notebook import checking
from tensorgrade.project import Project
from tensorgrade.sources.submission import Source
from tensorgrade.sources.submitted_files import SubmittedFiles

ROOT = Path(__file__).parents[2]
CHAPTER = "ch1_simplified_attention"


@pytest.fixture(scope="module")
def scaled(tmp_path_factory) -> Project:
    """The course, with softmax worth 12 points; its tests say 10."""
    root = tmp_path_factory.mktemp("scaled")
    for name in ("solutions", "graders", "exercises"):
        (root / name).symlink_to(ROOT / name)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text = config.replace("points={}", 'points={"softmax": 12}')
    (root / "course_config.py").write_text(text, encoding="utf-8")
    return Project(root)


@pytest.mark.slow
def test_verdicts_count_scaled_points(scaled):
    source = scaled.solution(CHAPTER).read_text(encoding="utf-8")
    wrong = source.replace("x - x.amax(dim=dim, keepdim=True)", "x")
    grader = Grader(Setup(scaled.graders, "none"))
    try:
        verdicts = {
            name: {verdict.exercise: verdict for verdict in grader.grade(submitted_files(text))}
            for name, text in (("right", source), ("wrong", wrong))
        }
    finally:
        grader.close()
    right, lost = verdicts["right"]["softmax"], verdicts["wrong"]["softmax"]
    assert (right.points, right.max_points, right.status) == (12, 12, "passed")
    # Only the test of large scores, 1.5 of 10 shares, notices it.
    assert (lost.points, lost.max_points, lost.status) == (10.2, 12, "partial")
    assert verdicts["right"]["softmax_naive"].points == 5


def submitted_files(text: str) -> SubmittedFiles:
    """A script as somebody's hand-in."""
    return SubmittedFiles("ada", CHAPTER, f"{CHAPTER}.py", text.encode())


@pytest.mark.slow
def test_notebooks_and_their_checks_count_scaled_points(scaled, tmp_path):
    chapter, _ = scaled.course.exercise("softmax")
    assert '"points": 12' in notebook_text(read_script(scaled.solution(CHAPTER)), chapter)
    exercises = shutil.copytree(ROOT / "exercises", tmp_path / "exercises")
    (exercises / "course.json").write_text(scaled.course.public_json(), encoding="utf-8")
    solution = scaled.solution(CHAPTER).read_text(encoding="utf-8")
    checked = checking.check(exercises, "softmax", Source(solution, f"{CHAPTER}.py"))
    assert checked.state == "done"
    assert checked.points == 12
