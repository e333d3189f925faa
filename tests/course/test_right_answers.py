"""Unusual but right answers get full points and no mistake's name: fair before strict."""

import ast
from pathlib import Path

import pytest

from tensorgrade.sources.handins import Handin

FILES = sorted(Path(__file__).parents[1].glob("right_answers/*/*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_right_answer_gets_full_points(grader, path):
    source = path.read_text(encoding="utf-8")
    defined = {getattr(node, "name", None) for node in ast.parse(source).body}
    verdicts = grader.grade(Handin("somebody", path.parent.name, path.name, source.encode()))
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
