"""An instructor who uses nbgrader, from the released notebook to the grades."""

import csv
import os
import shutil
from pathlib import Path

import pytest

from ..support import BIN, ROOT, nbgrader

pytestmark = pytest.mark.slow
CHAPTER = "ch1_simplified_attention"
COURSE = ROOT / "source" / CHAPTER / f"{CHAPTER}.ipynb"
PATH = f"{BIN}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls `alembic` by its name


def test_an_instructor_with_nbgrader(tmp_path):
    """Generate and release the assignment; learners fetch and submit it.

    Ada submits a notebook with one mistake, Bao a right one.
    Collect, autograde, generate and release feedback, which a learner fetches.
    Export the grades, and autograde again: nothing changes.
    """
    course, exchange = new_course(tmp_path)

    def run(*words: str, cwd: Path = course, **more: str) -> None:
        done = nbgrader(*words, cwd=cwd, PATH=PATH, **more)
        assert done.returncode == 0, done.stdout + done.stderr

    def learner(who: str, command: str) -> Path:
        home = tmp_path / who
        home.mkdir(exist_ok=True)
        options = (f"--Exchange.root={exchange}", f"--CourseDirectory.student_id={who}")
        words = (command, CHAPTER, "--course", "attention", *options)
        run(*words, cwd=home, JUPYTER_DATA_DIR=str(home / ".jupyter"))
        return home / CHAPTER

    run("generate_assignment", CHAPTER)
    released = (course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in released and "inputs @ query" not in released
    run("release_assignment", CHAPTER)
    for who in ("ada", "bao"):
        folder = learner(who, "fetch_assignment")
        assert (folder / "checks.zip").is_file()
        answers = COURSE.read_text("utf-8")
        if who == "ada":
            answers = answers.replace("inputs @ query", "inputs @ inputs.T", 1)
        (folder / f"{CHAPTER}.ipynb").write_text(answers, encoding="utf-8")
        learner(who, "submit")

    run("collect", CHAPTER)
    run("autograde", CHAPTER)
    run("generate_feedback", CHAPTER)
    run("release_feedback", CHAPTER)
    fetched = learner("ada", "fetch_feedback") / "feedback"
    (page,) = (path.read_text(encoding="utf-8") for path in fetched.rglob("*.html"))
    assert "all_pairs" in page and "return inputs @ query" not in page
    expected = {"ada": 36.5, "bao": 39}
    run("export")
    assert grades(course) == expected
    run("autograde", CHAPTER, "--force")
    run("export")
    assert grades(course) == expected


def new_course(folder: Path) -> tuple[Path, Path]:
    """Write the folder of an instructor, without a sandbox: the submissions are ours."""
    course, exchange = folder / "course", folder / "exchange"
    course.mkdir()
    exchange.mkdir()
    exchange.chmod(0o777)
    (course / "source").mkdir()
    shutil.copytree(COURSE.parent, course / "source" / CHAPTER)
    shutil.copy(ROOT / "nbgrader_config.py", course)
    for name in ("graders", "exercises", "solutions"):
        (course / name).symlink_to(ROOT / name)
    config = (ROOT / "course_config.py").read_text(encoding="utf-8")
    own = f'    c.Exchange.root = "{exchange}"\n    c.HiddenGraders.isolation = "none"\n'
    (course / "course_config.py").write_text(config + own, encoding="utf-8")
    return course, exchange


def grades(course: Path) -> dict[str, float]:
    """Return the points in the CSV that `nbgrader export` wrote."""
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(file)}
