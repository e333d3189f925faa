"""Find-the-bug exercises for graders and learners: unchanged, fixed and rewritten."""

import pytest

from tensorgrade.author.mistakes import every_mistake

from ..answers.reader import edited, place_of, solution
from ..support import ROOT, Judge, Project, some

CH1, SIMPLE, OTHER = (
    "ch1_simplified_attention",
    "bug_simplified_self_attention",
    "simplified_self_attention",
)
CH2, CH6 = "ch2_self_attention", "ch6_small_gpt"
SCALED = "bug_scaled_dot_product_attention"
PROJECT = Project(ROOT)
BUGS = {
    exercise.name: chapter.name
    for chapter in PROJECT.course.chapters
    for exercise in chapter.exercises
    if exercise.like
}
RIGHT = "    shares = (likeness / width**0.5).softmax(dim=-1)\n"
OTHER_MISTAKES = {
    "no_scale": ("(likeness / width**0.5)", "likeness"),
    "softmax_over_columns": ("softmax(dim=-1)", "softmax(dim=-2)"),
}
REWRITTEN = """    from torch import softmax
    return softmax(queries @ keys.mT / keys.shape[-1] ** 0.5, -1) @ values
"""
MADE = "import sys\nsys.modules['zz'] = type(sys)('zz')"
# Each puts the chapter's right answer in the place of the code that was given.
SUBSTITUTES = {
    "assignment": f"{SIMPLE} = {OTHER}",
    "setattr": f"import sys\nsetattr(sys.modules[__name__], '{SIMPLE}', {OTHER})",
    "exec": f"exec('{SIMPLE} = {OTHER}')",
    "star": f"{MADE}\nsys.modules['zz'].{SIMPLE} = {OTHER}\nfrom zz import *",
    "subclass": f"class A:\n    def __init_subclass__(cls): globals()['{SIMPLE}'] = {OTHER}\n"
    "class B(A): pass",
    "code": f"{SIMPLE}.__code__ = {OTHER}.__code__",
}
# Each of them has a line in the code that was given, and one elsewhere in the file.
HELPED = {
    "another exercise": (f"{OTHER}(inputs)", ""),
    "a helper": ("helper(inputs, None)", f"def helper(x, more): return {OTHER}(x)"),
    "an attribute of Tensor": ("inputs.helper()", f"torch.Tensor.helper = {OTHER}"),
    "a built-in": ("helper(inputs)", f"__builtins__['helper'] = {OTHER}"),
}


def given(judge: Judge, exercise: str) -> str:
    """Return the code that learners get."""
    stub = judge.stub(BUGS[exercise])
    first, last = place_of(stub, exercise)
    return "\n".join(stub.splitlines()[first:last])


def with_given(judge: Judge, change: str = "") -> str:
    """Return the solution of chapter 1 with the given code; change: its last line, if another."""
    text = solution(CH1)
    first, last = place_of(text, SIMPLE)
    *before, final = given(judge, SIMPLE).splitlines()
    ends = [f"    return {change}"] if change else ["    pass", final]  # so that it is changed
    lines = text.splitlines()
    return "\n".join([*lines[:first], *before, *ends, *lines[last:], ""])


@pytest.mark.slow
@pytest.mark.parametrize("chapter", [CH2, CH6])
def test_code_as_it_was_given_is_not_attempted_and_earns_nothing(judge: Judge, chapter: str):
    text = judge.stub(chapter).replace("_attention(\n", "_attention(  # looked at\n")
    for public in (False, True):
        for name, found in judge.chapter(chapter, text, public=public).items():
            assert (found.status, found.points, found.mistakes) == ("not_attempted", 0, ())
            assert found.message.startswith("Not fixed yet: ") == (name in BUGS), found


@pytest.mark.slow
def test_a_repair_has_all_points_and_a_rewrite_all_but_one(judge: Judge):
    right = solution(CH2)
    hinted = "import torch\nimport math\nMatrix = torch.Tensor\n"  # what a repair may use
    other = right.replace("import torch\n", hinted, 1)
    other = other.replace(RIGHT, RIGHT.replace("width**0.5", "math.sqrt(width)"))
    first = other.index(f"def {SCALED}(")
    other = other[:first] + other[first:].replace("queries: torch.Tensor", "queries: Matrix", 1)
    for text in (right, other):
        assert judge(CH2, SCALED, text).points == judge(CH2, SCALED, text, public=True).points == 4
    longer = right.replace(RIGHT, "    n = 1 + 1 + 1 + 1 + 1 + 1 + 1\n" + RIGHT)
    for text in (longer, right.replace(RIGHT, REWRITTEN)):
        found = judge(CH2, SCALED, text)
        assert (found.points, found.status) == (3, "partial")
        assert "It is right, but it is rewritten: " in found.message


@pytest.mark.slow
@pytest.mark.parametrize("way", SUBSTITUTES)
def test_another_function_in_its_place_earns_nothing(judge: Judge, way: str):
    text = f"{with_given(judge)}\n{SUBSTITUTES[way]}\n"
    assert judge(CH1, SIMPLE, text).points == 0
    if way == "setattr":
        assert judge(CH1, SIMPLE, text, public=True).points == 0


@pytest.mark.parametrize("way", some(HELPED, 1))
def test_nothing_else_of_the_file_helps_the_definition(judge: Judge, way: str):
    change, line = HELPED[way]
    assert judge(CH1, SIMPLE, f"{with_given(judge, change)}\n{line}\n").points == 0


@pytest.mark.slow
def test_what_is_in_the_place_of_a_repair_costs_nothing(judge: Judge):
    """Only the definition counts, whatever the file does with its name afterwards."""
    for line in (SUBSTITUTES["setattr"], f"globals()['{SIMPLE}'] = None"):
        assert judge(CH1, SIMPLE, f"{solution(CH1)}\n{line}\n").points == 4


@pytest.mark.slow
@pytest.mark.parametrize("public", [False, True])
def test_another_mistake_is_reported_without_its_name_its_line_or_its_repair(judge: Judge, public):
    messages = {known.name: known.message for known in every_mistake(PROJECT)}
    for name, edit in OTHER_MISTAKES.items():
        found = judge(CH2, SCALED, edited(solution(CH2), SCALED, [edit]), public=public)
        assert (found.mistakes, found.line) == ((), None) and found.points < 4
        for said in (messages[name], name, "one small change"):
            assert said not in found.message, found
