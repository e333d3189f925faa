"""A new exercise changes two files; it builds and can be graded."""

import json
import shutil
from pathlib import Path

import pytest

from ..commands import ROOT, run

CHAPTER = "ch3_causal_attention"
LESSON = '''

# %% exercise="visible_tokens"
def visible_tokens(mask: torch.Tensor) -> torch.Tensor:
    """Return how many tokens each token sees, (n,), for a mask (n, n) where True hides."""
    ### BEGIN SOLUTION
    return (~mask).sum(dim=-1)
    ### END SOLUTION

# %% [markdown] hints="visible_tokens"
# 1. True hides; what does `~mask` say?
# 2. Add up along each row.
'''
GRADER = '''"""Cases, tests and known mistakes of the exercise visible_tokens."""

from tensorgrade import exercise
from tensorgrade.author import call, case, computed, mistake, normal


def cases(pick):
    """Return cases with masks of several lengths."""
    lengths = pick(public=[4], hidden=[3, 7])
    return [case(f"values/{n}", call(mask=computed(below_zero, normal(n, n)))) for n in lengths]


def below_zero(numbers):
    """Return True in about half of the places."""
    return numbers < 0


@exercise("visible_tokens", points=3)
def test_visible_tokens_values(attempt):
    """One number for each token."""
    attempt.visible_tokens.agrees("values")


@exercise("visible_tokens", points=1, guard=True)
def test_visible_tokens_inputs(attempt):
    """The arguments stay unchanged."""
    attempt.visible_tokens.keeps_inputs("values")


MISTAKES = [
    mistake("hidden_counted", "The hidden tokens are counted.", ("~mask", "mask")),
    mistake("columns_counted", "It counts columns.", ("dim=-1", "dim=0")),
]
'''


def tensorgrade(course: Path, *arguments: str) -> str:
    """A command in the copy of the course; returns what it said."""
    done = run("tensorgrade.cli", *arguments, cwd=course)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course with one exercise more."""
    root = tmp_path_factory.mktemp("course")
    for name in ("solutions", "graders", "exercises", "source", "release"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("course_config.py", "nbgrader_config.py"):
        shutil.copy(ROOT / name, root)
    with (root / "solutions" / f"{CHAPTER}.py").open("a", encoding="utf-8") as lesson:
        lesson.write(LESSON)
    (root / "graders" / CHAPTER / "visible_tokens.py").write_text(GRADER, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def built(course):
    """What `tensorgrade build` said it wrote."""
    return [
        line.removeprefix("wrote ")
        for line in tensorgrade(course, "build").splitlines()
        if line.startswith("wrote ")
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_build_makes_what_belongs_to_the_new_exercise(course, built):
    assert f"exercises/test_{CHAPTER}.py" in built
    assert f"graders/references/{CHAPTER}.safetensors" in built
    others = [name for name in built if "/ch" in name and CHAPTER not in name]
    assert all(name.endswith("checks.zip") for name in others)  # course.json is in each of them


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_right_and_a_wrong_attempt_get_their_verdicts(course, built, tmp_path):
    source = (course / "solutions" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    wrong = source.replace("(~mask).sum", "mask.sum")
    for student, text in (("right", source), ("wrong", wrong)):
        place = tmp_path / "submitted" / student / CHAPTER
        place.mkdir(parents=True)
        (place / f"{CHAPTER}.py").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    tensorgrade(
        course,
        *("grade", str(tmp_path / "submitted"), "--out", str(out)),
        *("--isolation", "none", "--jobs", "1"),
    )
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    found = {row["student"]: row for row in rows if row["exercise"] == "visible_tokens"}
    assert (found["right"]["status"], found["right"]["points"]) == ("passed", 4)
    assert (found["wrong"]["status"], found["wrong"]["points"]) == ("partial", 2)
    assert found["wrong"]["mistakes"] == ["hidden_counted"]
    assert found["wrong"]["message"] == "The hidden tokens are counted."
    assert all(row["status"] == "passed" for row in rows if row["exercise"] != "visible_tokens")
