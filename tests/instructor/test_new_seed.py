"""A new seed without a build is refused wherever the old hidden cases would be used."""

import json
import shutil
from dataclasses import replace

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.author.bundle import write_kit
from tensorgrade.course import CourseError
from tensorgrade.instructor.channels import write_channel
from tensorgrade.instructor.grader import Grader
from tensorgrade.instructor.run import Run, grade_class
from tensorgrade.project import DRAWN_FROM, Project, check_seed, digest_of_seed, made_from

from ..commands import ROOT
from .runs import Silent, put

REFUSED = "drawn from another seed than the one in course_config.py; run `tensorgrade build`"


@pytest.fixture
def course(tmp_path):
    """A copy of the course whose seed was changed after the build."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("graders", "exercises", "solutions"):
        shutil.copytree(ROOT / name, tmp_path / "course" / name, ignore=ignore)
    shutil.copy(ROOT / "course_config.py", tmp_path / "course")
    project = Project(tmp_path / "course")
    path = made_from(project.graders)
    said = json.loads(path.read_text()) | {DRAWN_FROM: digest_of_seed(project.course)}
    path.write_text(json.dumps(said))
    check_seed(project.graders, project.course)
    config = project.root / "course_config.py"
    text = config.read_text()
    config.write_text(text.replace(f"seed={project.course.seed}", "seed=12345678901234567890"))
    return Project(project.root)


@pytest.mark.slow
def test_grade_bundle_channel_and_every_grader_refuse_a_new_seed_without_a_build(course, tmp_path):
    chapter = course.course.chapters[0].name
    put(tmp_path / "in", "ada", chapter, 1.0)
    setup = Setup(course.graders, "none")
    for use in (
        lambda: grade_class(tmp_path / "in", tmp_path / "out", Run(setup), Silent()),
        lambda: Grader(setup),  # of workers, of explain, of nbgrader's autograde
        lambda: write_kit(course, tmp_path / "kit.zip"),
        lambda: write_channel("gradescope", course, chapter, tmp_path / "a.zip", "uid"),
    ):
        with pytest.raises(CourseError, match=REFUSED):
            use()
    assert not (tmp_path / "out").exists() and not (tmp_path / "kit.zip").exists()


def test_learners_have_no_seed_and_are_not_refused(course):
    check_seed(course.graders, replace(course.course, seed=None))
