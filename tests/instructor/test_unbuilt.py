"""Edits that were not built, and a new seed, are refused wherever references are used."""

import json
import shutil

import pytest

from ..support import ROOT, cli
from .runs import CH1, CH2, put, run_here

pytestmark = pytest.mark.slow
SKIPPED = shutil.ignore_patterns("__pycache__", "*.ipynb")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the course as the build left it, with submissions of the first chapter."""
    folder = tmp_path_factory.mktemp("unbuilt")
    for name in ("graders", "exercises", "solutions"):
        shutil.copytree(ROOT / name, folder / "course" / name, ignore=SKIPPED)
    shutil.copy(ROOT / "course_config.py", folder / "course")
    put(folder / "in", "ada", CH1, 1.0)
    return folder


@pytest.fixture
def edit(built):
    """Return a function that edits a file of the course; it is restored afterwards."""
    before = {}

    def edit(name: str, old: str, new: str) -> None:
        path = built / "course" / name
        before[path] = path.read_text(encoding="utf-8")
        assert old in before[path]
        path.write_text(before[path].replace(old, new), encoding="utf-8")

    yield edit
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


def refusal(built, *words: object) -> str:
    """Return why a command is refused; nothing may be written.

    It has a process of its own, because Python does not import a changed file again.
    """
    done = cli(*words, cwd=built / "course")
    assert done.returncode == 2 and not (built / "out").exists(), done.stderr
    return done.stderr


def test_code_that_was_not_built_is_refused(built, edit):
    out = built / "out"
    graded = ("grade", built / "in", "--out", out, "--isolation", "none")
    edit(f"graders/{CH1}/attention_scores.py", "(1, 4), ", "(2, 4), ")
    assert f"changed since the last build: {CH1}." in refusal(built, *graded)
    edit(f"solutions/{CH1}.py", "return inputs @ query", "return 2 * (inputs @ query)")
    for words in (
        graded,
        ("bundle", "--out", out),
        ("channel", "gradescope", "--chapter", CH1, "--out", out),
    ):
        said = refusal(built, *words)
        assert f"changed since the last build: {CH1}." in said and "tensorgrade build" in said


def test_other_chapters_are_not(built, edit):
    edit(f"solutions/{CH2}.py", "** 0.5", "** 0.25")
    told = ("--chapter", CH1, "--out", built / "package.zip")
    done = run_here("channel", "gradescope", *told, cwd=built / "course")
    assert done.returncode == 0, done.stderr


def test_a_new_seed_without_a_build_is_refused(built, edit):
    config = (built / "course" / "course_config.py").read_text(encoding="utf-8")
    seed = config.partition("seed=")[2].partition(",")[0]
    edit("course_config.py", f"seed={seed}", "seed=12345678901234567890")
    for words in (
        ("grade", built / "in", "--out", built / "out", "--isolation", "none"),
        ("explain", "ada", "softmax", "--submitted", built / "in"),
    ):
        said = refusal(built, *words)
        assert "or drawn from another seed" in said and "tensorgrade build" in said
    kit = json.loads((built / "course" / "exercises" / "course.json").read_text("utf-8"))
    assert kit.get("seed") is None, "learners have none, so they are not refused"
