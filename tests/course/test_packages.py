"""Packages that learners may import, and type hints that name what is not there."""

from dataclasses import replace

import pytest

from tensorgrade.attempts.maker import must_be_installed
from tensorgrade.course import Course, CourseError

CHAPTER, EXERCISE = "ch4_multi_head_attention", "merge_heads"
REARRANGED = """
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

def merge_heads(x: Float[Tensor, "b heads tokens width"]) -> Float[Tensor, "b tokens features"]:
    return rearrange(x, "b heads tokens width -> b tokens (heads width)")
"""
HINTED = """
def merge_heads(x: Undefined["b heads tokens width"]) -> "nothing:that[can be read":
    b, heads, tokens, width = x.shape
    return x.transpose(1, 2).reshape(b, tokens, heads * width)
"""


@pytest.mark.parametrize("text", [REARRANGED, HINTED])
def test_a_right_answer_with_packages_and_hints_is_right(project, judged, text):
    solution = project.solution(CHAPTER).read_text(encoding="utf-8")
    found = judged(CHAPTER, EXERCISE, solution + text)
    assert found.points == found.max_points and found.message == "Right."


def test_a_course_tells_learners_which_packages_they_may_import(project):
    told = Course.from_json(project.course.public_json())
    assert told.packages == ("einops", "jaxtyping")
    assert replace(told, packages=()) == Course.from_json(replace(told, packages=()).public_json())


def test_nobody_is_graded_where_a_package_is_missing():
    must_be_installed(("torch", "einops"))
    with pytest.raises(CourseError, match=r"einops_not_there .*is not installed here"):
        must_be_installed(("torch", "einops_not_there"))
