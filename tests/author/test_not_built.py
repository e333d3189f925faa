"""In a clone in which nothing has been built, every command says so in one sentence."""

import shutil

import pytest

from tensorgrade.author.bundle import write_kit
from tensorgrade.course import CourseError
from tensorgrade.instructor.channels import write_channel
from tensorgrade.project import Project

from ..commands import ROOT, run, run_pytest
from .small_course import CHAPTER, build, make_course

SAID = "is missing; `tensorgrade build` makes it"


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A course without what git ignores."""
    root = make_course(tmp_path_factory.mktemp("clone") / "small")
    assert build(root)[0].wrong == ()
    shutil.rmtree(root / "graders" / "references")
    for path in [*root.glob("exercises/references/*.safetensors"), *root.rglob("checks.zip")]:
        path.unlink()
    return root


@pytest.mark.slow
@pytest.mark.parametrize("tests", ["graders", "exercises"])
def test_pytest_says_it_once(clone, tests):
    done = run_pytest(tests, "--attempt", "solutions", cwd=clone, PYTHONPATH=str(ROOT))
    said = done.stdout + done.stderr
    assert done.returncode == 2 and said.count(SAID) == 1, said
    assert "Traceback" not in said and "error" not in said.lower(), said


@pytest.mark.slow
def test_grading_says_it(clone, tmp_path):
    place = tmp_path / "submitted" / "ada" / CHAPTER
    place.mkdir(parents=True)
    shutil.copy(clone / "solutions" / f"{CHAPTER}.py", place)
    arguments = ["grade", tmp_path / "submitted", "--out", tmp_path / "out", "--isolation", "none"]
    done = run("tensorgrade.cli", *arguments, cwd=clone, PYTHONPATH=str(ROOT))
    said = done.stdout + done.stderr
    assert done.returncode != 0 and SAID in said and "Traceback" not in said, said


def test_no_parcel_is_made(clone, tmp_path):
    project, out = Project(clone), tmp_path / "out.zip"
    with pytest.raises(CourseError, match=SAID):
        write_kit(project, out)
    for system in ("gradescope", "prairielearn", "classroom50"):
        with pytest.raises(CourseError, match=SAID):
            write_channel(system, project, CHAPTER, out, "none")
    assert not out.exists()
