"""With another seed hidden inputs are others, and the same answers have the same points."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tensorgrade.author import cases_of
from tensorgrade.exchange.cases import Case

from ..answers.reader import edited_answers, right_answers, solutions
from ..support import ROOT, Judge, Project, cli, known_mistakes, some, with_mistakes

pytestmark = pytest.mark.proof
FOLDERS = ("graders", "solutions", "exercises", "source", "release")
CHAPTERS = sorted(path.stem for path in (ROOT / "solutions").glob("ch*.py"))
# Groups that only look at how an object is made: there is no input to be read.
OF_STRUCTURE = {"start", "parameters", "indivisible", "uneven groups"}
FIXED = {  # docs/explanation/sandbox.md sums them up
    "causal_mask": {"values"},
    "mask_and_renormalize": {"values"},
    "inverted_dropout": {"dropout"},
    "trace_shapes": {"values"},
    "padding_mask": {"values", "dtype"},
    "sinusoidal_positions": {"values"},
    "sliding_window_mask": {"values", "full", "dtype"},
    "batches": {"windows", "everywhere", "chance"},
}
FIXED |= {
    f"bug_{name}": FIXED[name]
    for name in ("mask_and_renormalize", "inverted_dropout", "sinusoidal_positions", "batches")
}


def course_with(seed: int, folder: Path) -> Path:
    """Copy the course, and give the copy another seed."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    text = (ROOT / "course_config.py").read_text(encoding="utf-8")
    text, count = re.subn(r"seed=\d+", f"seed={seed}", text)
    assert count == 1, "the course has one seed"
    (folder / "course_config.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("chapter", some(CHAPTERS, 1))
def test_another_seed_gives_the_same_points(judge: Judge, project: Project, tmp_path, chapter: str):
    root = course_with(1 << 100, tmp_path)
    done = cli("build", chapter, cwd=root, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    texts = [
        (exercise, with_mistakes(project, chapter, exercise, name))
        for where, exercise, name in known_mistakes(project)
        if where == chapter
    ]
    right = [*solutions(), *right_answers(), *edited_answers()]
    texts += [(one.exercise, one.text) for one in right if one.right and one.chapter == chapter]
    other = Judge(root)
    for exercise, text in some(texts, 10):
        one, two = (grade(chapter, exercise, text, explain=False) for grade in (judge, other))
        assert (one.points, one.status) == (two.points, two.status), (one, two)
    other.close()


def asks_the_same(one: Case, other: Case) -> bool:
    """Return True if two cases pass the same inputs; seeds that are set inside aside."""
    steps, others = (
        [replace(step, options=step.options | {"seed": 0}) for step in case.steps]
        for case in (one, other)
    )
    if steps != others or one.tensors.keys() != other.tensors.keys():
        return False
    return all(torch.equal(tensor, other.tensors[key]) for key, tensor in one.tensors.items())


def test_only_listed_hidden_inputs_stay_the_same(project: Project, tmp_path):
    others = [Project(course_with(10**30 + n, tmp_path / str(n))) for n in range(4)]
    found: dict[str, set[str]] = {}
    for chapter in project.course.chapters:
        for name in (exercise.name for exercise in chapter.exercises):
            cases, *drawn = (
                cases_of(one, chapter.name, name, hidden=True) for one in (project, *others)
            )
            fixed = {
                case.group
                for case in cases
                if not case.name.endswith("/example")  # of the docstring
                and all(any(asks_the_same(case, one) for one in more) for more in drawn)
            }
            if fixed - OF_STRUCTURE:
                found[name] = fixed - OF_STRUCTURE
    assert found == FIXED
