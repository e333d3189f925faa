"""Unusual but right answers get full points and no mistake's name: fair before strict."""

import ast
import runpy
from pathlib import Path

import pytest

from tensorgrade.recognition.mistakes import make, mistake
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..sampling import first_of_each

FILES = sorted(Path(__file__).parents[1].glob("right_answers/*/*.py"))

EDITED = [
    (path.stem, exercise, name, edits)
    for path in sorted(Path(__file__).parents[1].glob("right_edits/*.py"))
    for exercise, programs in runpy.run_path(str(path))["RIGHT"].items()
    for name, edits in programs.items()
]


@pytest.mark.parametrize(
    "chapter, exercise, name, edits",
    first_of_each(EDITED, lambda case: case[0]),
    ids=lambda value: value if type(value) is str else "",
)
def test_right_edit_gets_full_points(project, judged, chapter, exercise, name, edits):
    source = project.solution(chapter).read_text(encoding="utf-8")
    right = make(source, exercise, [mistake(name, "", {exercise: tuple(edits)})])
    verdict = judged(chapter, exercise, right)
    assert (verdict.status, verdict.mistakes) == ("passed", []), verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    first_of_each(FILES, lambda path: path.parent),
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_right_answer_gets_full_points(grader, path):
    source = path.read_text(encoding="utf-8")
    defined = {getattr(node, "name", None) for node in ast.parse(source).body}
    verdicts = grader.grade(
        SubmittedFiles("somebody", path.parent.name, path.name, source.encode())
    )
    judged = [verdict for verdict in verdicts if verdict.exercise in defined]
    assert judged
    for verdict in judged:
        assert (verdict.points, verdict.status) == (verdict.max_points, "passed"), verdict
        assert verdict.mistakes == []


@pytest.mark.parametrize(
    "name",
    [
        "SelfAttention_v1",
        "SelfAttention_v2",
        "CausalAttention",
        "MultiHeadAttentionWrapper",
        "MultiHeadAttention",
    ],
)
def test_there_are_six_for_every_module(name):
    texts = [path.read_text(encoding="utf-8") for path in FILES]
    assert sum(f"class {name}(" in text for text in texts) >= 6
