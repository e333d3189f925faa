"""Exercises with any Python value: right answers pass, wrong ones get an explanation."""

import re
from pathlib import Path

import pytest

from tensorgrade.attempts.attempt import Answer, Attempt
from tensorgrade.attempts.lab import Lab
from tensorgrade.attempts.naming import answer_to
from tensorgrade.attempts.recognized import mistakes as mistakes_of
from tensorgrade.attempts.side import Side
from tensorgrade.author.mistakes import known
from tensorgrade.course import CourseError
from tensorgrade.folders import write_file
from tensorgrade.judging.checks import load_checks
from tensorgrade.judging.diagnosis import Diagnosis, Wrong
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprints

from .small_course import build_exercise

CHAPTER = "ch1_small"
CONFIG = """
from tensorgrade.course import Settings, Tolerance

FLOATS = {"float64": Tolerance(1e-6, 1e-6), "float32": Tolerance(1e-4, 1e-4)}
COURSE = Settings("small", "A small course", 2**100, ("ch1_small",), {"cpu": FLOATS})
"""
LESSON = """# %% [markdown]
# # Small

# %%
from collections import *
from dataclasses import dataclass

import torch
from torch import nn

# %% exercise="f"
{solution}
"""
GRADER = '''
from collections import OrderedDict

import torch

from tensorgrade.author import *


def cases(draw):
    return [{cases}]


CHECKS = [check(1, "It agrees.", it.agrees("values"))]

MISTAKES = """
{mistakes}
"""
'''
IMPORTS = "from collections import *\nfrom dataclasses import dataclass\nimport torch\n"
IMPORTS += "from torch import nn\n"


class SmallCourse:
    """A course of one exercise, `f`, with references made by its solution, without a sandbox."""

    def __init__(self, root: Path, solution: str, cases: str, mistakes: str = ""):
        self.project = Project(root)
        files = {
            "course_config.py": CONFIG,
            f"solutions/{CHAPTER}.py": LESSON.format(solution=solution),
            f"graders/{CHAPTER}/f.py": GRADER.format(cases=cases, mistakes=mistakes),
        }
        for name, text in files.items():
            write_file(root / name, text.encode())
        self.made = {
            hidden: build_exercise(str(root), CHAPTER, "f", hidden) for hidden in (False, True)
        }

    def answer(self, source: str, hidden: bool = False) -> Answer:
        """A learner's text, run on the cases."""
        (references, prints), course = self.made[hidden], self.project.course
        messages = {one.name: one.message for one in known(self.project, "f")}
        own, recognized = (
            load_checks(self.project.graders),
            Fingerprints(lambda _: prints, messages),
        )
        lab, program = Lab(None, course.limits), self.project.program(CHAPTER, IMPORTS + source)
        return answer_to(Attempt(lab, program, course, Side(references, own, recognized)), "f")

    def diagnosis(self, source: str, check, hidden: bool = False) -> Diagnosis | None:
        """Return the message of a check for a learner's text; None if it passes."""
        try:
            check(self.answer(source, hidden))
        except Wrong as wrong:
            return wrong.diagnosis
        return None


X = 'case("values/1", call(x=normal(2, 3)))'
FOLDED = """
def f(x):
    ### BEGIN SOLUTION
    return {}
    ### END SOLUTION
"""
# The solution's result, right answers, and wrong answers with their public messages.
RETURNED = {
    "dict of tensors": (
        "{'sum': x.sum(0), 'twice': 2 * x}",
        ["dict(twice=x + x, sum=x.sum(0))", "OrderedDict(sum=x.sum(dim=0), twice=2 * x)"],
        {
            "{'sum': x.sum(0), 'twice': 3 * x}": "right shape but not the right values",
            "{'sum': x.sum(0)}": "has no key 'twice'",
            "{'sum': x.sum(0), 'twice': 2 * x, 'more': 1}": "a key 'more' that it should not have",
            "{'sum': x.sum(0), 'twice': None}": "is None; a tensor is expected",
            "[x.sum(0), 2 * x]": "the result is a list of 2; a dict of 2 is expected",
        },
    ),
    "generator": (
        "(row * 2 for row in x)",
        ["[row * 2 for row in x]", "iter([2 * x[0], 2 * x[1]])", "map(lambda row: row + row, x)"],
        {
            "(row for row in x)": "not the right values",
            "[2 * x[0]]": "the second part of the result",
            "(1 / 0 for row in x)": "ZeroDivisionError",
        },
    ),
    "generator of numbers": (
        "(n * n for n in range(3))",
        ["[0, 1, 4]", "(0, 1, 4)", "deque([0, 1, 4])"],
        {
            "[0, 1, 5]": "`result[2]` is 5; 4 is expected",
            "range(3)": "`result[2]` is 2; 4 is expected",
            "iter(int, 1)": "the result is more than 20000 parts; a list of 3 is expected",
        },
    ),
    "nested lists": (
        "[[x[0], [x[1]]], [{'a': (x,)}]]",
        ["((x[0], (x[1],)), [{'a': [x]}])"],
        {"[[x[0], [x[0]]], [{'a': (x,)}]]": "values", "[[x[0], []], [{'a': (x,)}]]": "parts"},
    ),
    "floats": (
        "[0.1 + 0.2, float('inf'), 1]",
        ["[0.3, float('inf'), 1]", "(0.3, float('inf'), True)", "[torch.tensor(0.3), 1e999, 1.0]"],
        {
            "[0.31, 1e999, 1]": "`result[0]` is 0.31",
            "[0.3, 1e999, float('nan')]": "is nan",
            "[10**2000, 1e999, 1]": "is a number; 0.3",
            "[0.3, 10**4000, 1]": "thousands of digits",
        },
    ),
    "one float": (
        "float(x.double().norm())",
        ["x.norm().item()", "x.norm()", "float((x * x).sum()) ** 0.5"],
        {
            "float(x.sum())": "is expected",
            "'3'": "the result is '3'",
            "None": "the result is None: does your function end",
        },
    ),
    "text": (
        "'zwei\\x1b[31m Wörter\\n' * 100",
        ["'zwei\\x1b[31m Wörter\\n' * 100"],
        {"'zwei\\x1b[31m Wörter\\n' * 99 + 'zwei\\x1b[31m Worter\\n'": "a text of", "7": "is 7"},
    ),
    "bytes by number": (
        "{0: b'a\\xff', 256: b'ab'}",
        ["defaultdict(bytes, {256: b'ab', 0: bytes([97, 255])})"],
        {"{0: b'a', 256: b'ab'}": "`result[0]` is b'a'", "{'0': b'a\\xff', 256: b'ab'}": "no key"},
    ),
    "counts of pairs": (
        "Counter(zip([1, 2, 1], [2, 1, 2]))",
        ["{(2, 1): 1, (1, 2): 2}"],
        {"{(1, 2): 2, (2, 1): 2}": "`result[(2, 1)]` is 2; 1 is expected"},
    ),
    "set": ("{1, (2, 3)}", ["frozenset([(2, 3), 1])"], {"{1, (2, 4)}": "set", "[1]": "a list"}),
    "named tuple": (
        "namedtuple('Pair', 'left right')(x, 2)",
        ["(x, 2)", "[x, 2]"],
        {"(x, 3)": "3", "(x,)": "the second part"},
    ),
    "truth": ("x.shape[0] > 1", ["True", "1"], {"False": "is False; True is expected"}),
}


def says(text: str, said: str) -> bool:
    """Return True if a text has the words of a sentence around each `is`."""
    return all(words in text for words in re.split(r"\s*\bis\b\s*", said))


def course(folder, returned: str, cases: str = X, mistakes: str = "") -> SmallCourse:
    return SmallCourse(folder, FOLDED.format(returned), cases, mistakes)


def agrees(exercise):
    exercise.agrees("values")


def keeps(exercise):
    exercise.keeps_inputs("values")


@pytest.mark.parametrize("kind", RETURNED)
def test_right_and_wrong_answers(tmp_path, kind):
    solution, right, wrong = RETURNED[kind]
    small = course(tmp_path, solution)
    for returned in (solution, *right):
        for hidden in (False, True):
            found = small.diagnosis(FOLDED.format(returned), agrees, hidden)
            assert found is None, (returned, found)
    for returned, said in wrong.items():
        found = small.diagnosis(FOLDED.format(returned), agrees)
        assert found is not None and says(found.problem, said), (returned, found)
        assert small.diagnosis(FOLDED.format(returned), agrees, hidden=True), returned


SEEDED = "def f(x, seed):\n    return x * seed"
NO_RESULT = "class f(nn.Linear):\n    ### BEGIN SOLUTION\n    def forward(self, x):\n"
NO_RESULT += "        super().forward(x)\n    ### END SOLUTION\n"
LOADED = 'case("values/1", construct(in_features=2, out_features=1), load({"weight": '
LOADED += 'weights(1, 2), "bias": weights(1)}), call(x=normal(2)))'
GRADIENT = 'case("values/1", call(x=normal(3), gradient=(normal(3), normal(3))))'
# A solution and its cases that cannot be built, and why.
UNFIT = [
    (FOLDED.format("lambda: 1"), X, "`result` is an object of type function"),
    (FOLDED.format("{'a': [1, object()]}"), X, "`result['a'][1]` is an object of type object"),
    (FOLDED.format("[[[[[[[[[[1]]]]]]]]]]"), X, "nested more than 8 deep"),
    (FOLDED.format("[n for n in range(10**5)]"), X, "more than 20000 parts"),
    (FOLDED.format("{'a': x.to_sparse()}"), X, "a sparse tensor"),
    (FOLDED.format("None"), X, "the solution returns nothing that could be judged"),
    (FOLDED.format("x.zero_() and None"), X, "values/1: the solution raises RuntimeError"),
    (FOLDED.format("x"), 'case("values/1", call(x=[1, object()]))', "x[1] is an object of type ob"),
    (
        FOLDED.format("x"),
        'case("values/1", call(x=1), signature="error")',
        "values/1: the solution should refuse it, and does not",
    ),
    (FOLDED.format("{'a': x.detach()}"), GRADIENT, "gradients are asked for, and no result"),
    (NO_RESULT, LOADED, "values/1: the solution returns nothing that could be judged"),
    ("def f(x):\n    return 1 / 0", X, "ZeroDivisionError: division by zero (f, return 1 / 0)"),
    (
        SEEDED,
        'case("values/1", call(x=normal(2), seed=3))',
        "an argument of that name goes into `named=`",
    ),
]


def test_what_cannot_be_judged_is_an_error_of_the_build(tmp_path):
    for number, (solution, cases, said) in enumerate(UNFIT):
        with pytest.raises(CourseError) as error:
            SmallCourse(tmp_path / str(number), solution, cases)
        assert says(str(error.value), said) and "values/1" in str(error.value), solution


ARGUMENTS = {
    "tuple": ("(1, 2)", "isinstance(x, tuple) and x == (1, 2)"),
    "list of tensors": ("[normal(2), 3, normal(4)]", "[part + 1 for part in x]"),
    "dict with keys that are tuples": ("{(1, 2): 256, (3, 256): 257}", "x[1, 2] + x[3, 256]"),
    "bytes and text": ("[b'\\x00ab', 'W\\u00f6rter\\x1b']", "[len(x[0]), x[1].upper()]"),
    "nested": ("{'pairs': [(1, normal(2)), (2, normal(3))]}", "x['pairs'][1][1] * 2"),
    "set": ("{3, 4}", "{n + 1 for n in x}"),
    "dict named like a tag": ("{'tensor': 1, 'object': 2}", "sum(x.values())"),
}


def test_an_argument_arrives_as_it_was_written(tmp_path):
    for number, (written, solution) in enumerate(ARGUMENTS.values()):
        small = course(tmp_path / str(number), solution, f'case("values/1", call(x={written}))')
        assert small.diagnosis(FOLDED.format(solution), agrees, hidden=True) is None
        found = small.diagnosis(FOLDED.format("x"), agrees)
        assert found is not None and found.case == "values/1"
        (_, expected), *_ = small.made[False][0].entries
        value = expected.value("result")
        assert value is True or value not in (None, False), "the solution saw what was written"
    named = 'case("values/1", call(x=normal(2), named={"seed": 3}))'
    assert SmallCourse(tmp_path / "named", SEEDED, named).diagnosis(SEEDED, agrees) is None


CHANGES = {
    "x[1]['a'].zero_()": "a tensor deep within",
    "x[1]['b'].append(4)": "a list",
    "x.append(3)": "the list itself",
    "x[1].pop('a')": "a dict",
}


def test_inputs_are_kept_at_any_depth(tmp_path):
    cases = 'case("values/1", call(x=[1, {"a": normal(3), "b": [2]}]))'
    small = course(tmp_path, "x[1]['a'] * 2", cases)
    assert small.diagnosis("def f(x):\n    return x[1]['a'] * 2\n", keeps) is None
    for change in CHANGES:
        wrong = f"def f(x):\n    y = x[1]['a'] * 2\n    {change}\n    return y\n"
        for hidden in (False, True):
            said = small.diagnosis(wrong, keeps, hidden).problem
            assert "changes the input `x` in place" in said, change


CLASS = """
class f{base}:
    ### BEGIN SOLUTION
    def __init__(self, size):
        {start}
        self.size, self.seen = size, []

    def {method}(self, x):
        return x * self.size
    ### END SOLUTION
"""


@pytest.mark.parametrize("base, start", [("", "pass"), ("(nn.Module)", "super().__init__()")])
def test_an_object_keeps_what_it_holds(tmp_path, base, start):
    method, path = ("forward", "") if base else ("apply", ', path="apply"')
    text = CLASS.format(base=base, start=start, method=method)
    small = SmallCourse(
        tmp_path, text, f'case("values/1", construct(size=3), call(x=normal(2){path}))'
    )

    def keeps_all(f):
        f.keeps_inputs("values", objects=True)

    changing = text.replace("        return", "        self.seen.append(1)\n        return")
    assert small.diagnosis(text, keeps_all) is None
    for hidden in (False, True):
        assert small.diagnosis(text, keeps_all, hidden) is None
        assert "changes `self` itself" in small.diagnosis(changing, keeps_all, hidden).problem
    assert small.diagnosis(changing, keeps) is None
    found = small.diagnosis(text.replace("x * self.size", "x"), keeps_all)
    assert "just what was passed in" in found.problem


def test_who_does_nothing_has_kept_no_input(tmp_path):
    cases = 'case("values/1", call(x=[3, 1, 2])), case("sorted/1", call(x=[1, 2]))'
    small = course(tmp_path, "sorted(x)", cases)
    for returned, said in {
        "sorted(x)": None,
        "[*sorted(x), 1]": None,  # wrong, and for others to judge
        "x": "the result is just what was passed in",
        "None": "None: does your function end in a `return` with a value?",
        "len(x)": "the result is 3; a list of 3 is expected",
    }.items():
        found = small.diagnosis(FOLDED.format(returned), keeps)
        assert (found is None) if said is None else says(found.problem, said), found
    assert small.diagnosis(FOLDED.format("x"), lambda f: f.keeps_inputs("sorted")) is None


def test_gradients_through_a_dict_of_results_are_judged(tmp_path):
    small = course(tmp_path, "{'a': x * 2, 'b': x.exp()}", GRADIENT)
    for exp, passes in (("x.exp()", True), ("x.detach().exp()", False)):
        found = small.diagnosis(FOLDED.format(f"dict(a=x * 2, b={exp})"), agrees)
        assert (found is None) == passes


def test_mistakes_are_named_whatever_the_value_and_its_types(tmp_path):
    mistakes = "halved: It is halved.\n    * 2.5 -> * 1.25"
    small = course(tmp_path, "{'a': (float(x.sum()) * 2.5, 'b')}", mistakes=mistakes)
    wrong = FOLDED.format("OrderedDict(a=[x.sum().item() / 0.8, 'b'])")
    for hidden in (False, True):
        assert mistakes_of(small.answer(wrong, hidden)) == ("halved",)
