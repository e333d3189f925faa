"""Collection fails for a test that does not say what it judges, or whose shares do not add up."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHAPTER = "ch1_simplified_attention"


@pytest.fixture
def graders(tmp_path):
    """A course of one grader file that a test may spoil."""
    (tmp_path / "graders").mkdir()
    shutil.copy(ROOT / "course_config.py", tmp_path)
    shutil.copy(ROOT / "graders" / f"test_{CHAPTER}.py", tmp_path / "graders")
    return tmp_path / "graders"


def collect(graders: Path, old: str, new: str) -> str:
    path = graders / f"test_{CHAPTER}.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", str(graders)]
    run = subprocess.run(command, cwd=graders.parent, capture_output=True, text=True)
    return f"{run.returncode} {run.stdout} {run.stderr}"


def test_shares_that_do_not_add_up(graders):
    said = collect(graders, "points=3.5", "points=3")
    assert said.startswith("4") and "attention_scores add up to 4.5 points, not 5" in said


def test_a_test_without_a_marker(graders):
    said = collect(graders, '@exercise("attention_scores", points=3.5)\n', "")
    assert said.startswith("4") and "has no @exercise" in said


def test_an_exercise_that_does_not_exist(graders):
    said = collect(graders, 'exercise("attention_scores", points=3.5', 'exercise("attention_score", points=3.5')
    assert said.startswith("4") and "attention_score" in said


def test_as_it_is_it_collects(graders):
    assert collect(graders, "def ", "def ").startswith("0")
