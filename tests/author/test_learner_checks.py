"""The learner's checks contain the graders' own tests and the code that these use."""

import ast

import pytest

from tensorgrade import grader_files
from tensorgrade.author.building.learner_checks import learner_checks, take_tests
from tensorgrade.author.proofs.course_errors import ExerciseFile
from tensorgrade.course import CourseError
from tensorgrade.grader_files import grader_path, marked_in
from tensorgrade.judging.course_checks import load_checks

HEAD = """from tensorgrade import exercise
from tensorgrade.author import case, call
from ..shared import SENTENCE
import math, os

SIZES = [5, 7]
LIMIT = 3

def cases(pick):
    return [case(f"a/{n}", call(x=n)) for n in SIZES]

def near(attempt):
    attempt.f.agrees("values", math.inf, LIMIT)

MISTAKES = []
"""
TEST = '@exercise("f", points=2)\ndef test_f(attempt):\n    {}\n'


def taken(tmp_path, body: str):
    """(imports, parts) of a grader file with this test."""
    path = tmp_path / "f.py"
    path.write_text(HEAD + TEST.format(body), encoding="utf-8")
    imports, parts = {"": set(), "from tensorgrade ": set()}, {}
    take_tests(path, imports, parts)
    return imports, parts


def test_a_test_takes_along_what_it_uses_and_nothing_else(tmp_path):
    imports, parts = taken(tmp_path, "near(attempt)")
    assert set(parts) == {"LIMIT", "near", "test_f"}
    assert imports == {"": {"math"}, "from tensorgrade ": {"exercise"}}
    assert parts["test_f"].startswith('@exercise("f", points=2)\ndef test_f')


@pytest.mark.parametrize(
    "body, said",
    [
        ("cases(None)", "f.py:18: a test uses cases"),
        ("MISTAKES", "f.py:18: a test uses MISTAKES"),
        ("case('a', 1)", "f.py:18: a test uses case"),
        ("print(SENTENCE)", "f.py:18: a test uses SENTENCE"),
    ],
)
def test_a_test_that_reaches_a_secret_is_reported_with_its_line(tmp_path, body, said):
    with pytest.raises(CourseError, match=said):
        taken(tmp_path, body)


@pytest.mark.slow
def test_the_course_has_each_test_once_and_no_case(project):
    for chapter in project.course.chapters:
        text = learner_checks(project, chapter)
        assert text == (project.exercises / f"test_{chapter.name}.py").read_text("utf-8")
        paths = [grader_path(project.graders, chapter.name, e.name) for e in chapter.exercises]
        names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
        marked = [one for path in paths for one in marked_in(grader_files.tests_text(path), path)]
        assert len(names) == len(set(names)) == len(marked)
        assert "pick" not in text and "mistake" not in text and "normal(" not in text


@pytest.mark.slow
def test_every_group_that_is_asked_for_has_a_case_of_either_kind(project, monkeypatch):
    own = load_checks(project.graders)
    files = {
        exercise.name: ExerciseFile(project, chapter.name, exercise, own)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
    }
    for file in files.values():
        assert list(file.missing_groups()) == []
    monkeypatch.setattr(files["causal_mask"].module, "cases", lambda p: [])
    for names in [names for names in project.drawn if "causal_mask" in names]:
        monkeypatch.delitem(project.drawn, names)
    del files["causal_mask"].cases
    said = list(files["causal_mask"].missing_groups())
    for who in ("learners", "graders"):
        asked = "test_causal_mask_dtype asks for cases in the group 'dtype', and " + who
        assert any(asked in one for one in said)
