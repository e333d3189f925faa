"""The learner's checks contain the graders' own tests and the code that these use."""

import pytest

from tensorgrade.author.building.learner_checks import take_tests
from tensorgrade.course import CourseError

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
    """Return (imports, parts) of a grader file with this test."""
    path = tmp_path / "f.py"
    path.write_text(HEAD + TEST.format(body), encoding="utf-8")
    imports, parts = {"": set(), "from tensorgrade ": set()}, {}
    take_tests(path, imports, parts)
    return imports, parts


def test_a_test_takes_along_what_it_uses_and_nothing_secret(tmp_path):
    imports, parts = taken(tmp_path, "near(attempt)")
    assert set(parts) == {"LIMIT", "near", "test_f"}
    assert imports == {"": {"math"}, "from tensorgrade ": {"exercise"}}
    assert parts["test_f"].startswith('@exercise("f", points=2)\ndef test_f')
    for body in ("cases(None)", "MISTAKES", "case('a', 1)", "print(SENTENCE)"):
        name = body.split("(")[-1 if "SENTENCE" in body else 0].strip(")")
        with pytest.raises(CourseError, match=f"f.py:18: a test uses {name}"):
            taken(tmp_path, body)
