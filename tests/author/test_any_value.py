"""Exercises with any Python value: right answers pass, wrong ones get an explanation.

And checks and signatures of a course's own, in its `checks.py`.
"""

import re
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from ..support import Judge
from .small_course import build, refused

pytestmark = pytest.mark.slow
CHAPTER = "ch1_small"
CONFIG = """
from tensorgrade.course import Settings, Tolerance

FLOATS = {"float64": Tolerance(1e-6, 1e-6), "float32": Tolerance(1e-4, 1e-4)}
COURSE = Settings(
    "small", "A small course", 2**100, ("ch1_small",), {"cpu": FLOATS}, points=POINTS
)
"""
IMPORTS = """from collections import *
from dataclasses import dataclass

import torch
from torch import nn
"""
GRADER = '''
from collections import OrderedDict

import torch

from tensorgrade.author import *


def cases(draw):
    return [{cases}]


CHECKS = [{checks}]

MISTAKES = """
{mistake}
"""
'''
X = 'case("values/1", call(x=normal(2, 3)))'
AGREES = 'check(1, "It agrees.", it.agrees("values"))'
KEEPS = 'check(1, "It keeps.", it.keeps_inputs("values"))'
OBJECTS = 'check(1, "It keeps all.", it.keeps_inputs("values", objects=True))'
HALF = "return -> return 0.5 or"


def function(returned: str, name: str = "f", parameters: str = "x") -> str:
    """Return the text of a function that returns this."""
    code = f"    ### BEGIN SOLUTION\n    return {returned}\n    ### END SOLUTION\n"
    return f'def {name}({parameters}):\n    """Return it."""\n{code}'


def write_course(root: Path, exercises: Mapping[str, tuple[str, ...]]) -> None:
    """Write a course. exercises: by name, a solution, its cases, its checks and a mistake."""
    cells = [f"# %% [markdown]\n# # Small\n\n# %%\n{IMPORTS}"]
    points = {"own": 12} if "own" in exercises else {}
    files = {"course_config.py": CONFIG.replace("POINTS", str(points))}
    for name, (solution, *more) in exercises.items():
        cases, checks, edit = (*more, *(X, AGREES, HALF)[len(more) :])
        cells.append(f'# %% exercise="{name}"\n{solution}')
        cells.append(f'# %% [markdown] hints="{name}"\n# 1. One.\n# 2. Two.\n')
        mistake = f"{name}_wrong: It is wrong.\n    {edit}"
        grader = GRADER.format(cases=cases, checks=checks, mistake=mistake)
        files[f"graders/{CHAPTER}/{name}.py"] = grader
    files[f"solutions/{CHAPTER}.py"] = "\n".join(cells)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


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


KINDS = {f"kind_{name.replace(' ', '_')}": row for name, row in RETURNED.items()}
ARGUMENTS = {
    "tuple": ("(1, 2)", "isinstance(x, tuple) and x == (1, 2)"),
    "list of tensors": ("[normal(2), 3, normal(4)]", "[part + 1 for part in x]"),
    "dict with keys that are tuples": ("{(1, 2): 256, (3, 256): 257}", "x[1, 2] + x[3, 256]"),
    "bytes and text": ("[b'\\x00ab', 'W\\u00f6rter\\x1b']", "[len(x[0]), x[1].upper()]"),
    "nested": ("{'pairs': [(1, normal(2)), (2, normal(3))]}", "x['pairs'][1][1] * 2"),
    "set": ("{3, 4}", "{n + 1 for n in x}"),
    "dict named like a tag": ("{'tensor': 1, 'object': 2}", "sum(x.values())"),
}
ARGUMENTS = {f"given_{name.replace(' ', '_')}": row for name, row in ARGUMENTS.items()}
GRADIENT = 'case("values/1", call(x=normal(3), gradient=(normal(3), normal(3))))'
CLASS = """class {name}{base}:
    \"\"\"Scales.\"\"\"

    ### BEGIN SOLUTION
    def __init__(self, size):
        {start}
        self.size, self.seen = size, []

    def {method}(self, x):
        return x * self.size
    ### END SOLUTION
"""
CLASSES = {
    "Plain": CLASS.format(name="Plain", base="", start="pass", method="apply"),
    "Layer": CLASS.format(
        name="Layer", base="(nn.Module)", start="super().__init__()", method="forward"
    ),
}
PATHS = {"Plain": ', path="apply"', "Layer": ""}
OWN = """
from tensorgrade import check, signature
from tensorgrade.recognition.imprints import Imprint


@check
def is_large(exercise, group):
    for case, expected, observed in exercise.answered(group):
        if observed.tensors["result"].sum() < 0:
            exercise.wrong("values", "it is small", case=case)
        1 / int(observed.tensors["result"].sum() < 1000)


@signature("values of signs")
def signs(case, expected, seen):
    return Imprint(str((seen.tensors["result"] < 0).tolist()))
"""
SCALED = "{'a': (float(x.sum()) * 2.5, 'b')}"
POSITIVE = 'case("values/1", call(x=computed(abs, normal(3))), signature="values of signs")'
LARGE = (
    'check(3, "It is large.", it.is_large("values")), check(1, "Kept.", it.keeps_inputs("values"))'
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """The judge of a course with all these exercises, built once."""
    root, exercises = tmp_path_factory.mktemp("any") / "small", {}
    for name, (returned, _, _) in KINDS.items():
        exercises[name] = (function(returned, name),)
    for name, (written, returned) in ARGUMENTS.items():
        exercises[name] = (function(returned, name), f'case("values/1", call(x={written}))')
    for name, text in CLASSES.items():
        case = f'case("values/1", construct(size=3), call(x=normal(2){PATHS[name]}))'
        edit, other = "= size, -> = -size,", f"{name}Self"
        exercises[name] = (text, case, OBJECTS, edit)
        exercises[other] = (text.replace(name, other), case, KEEPS, edit)
    seeded = 'case("values/1", call(x=normal(2), named={"seed": 3}))'
    changed = 'case("values/1", call(x=[1, {"a": normal(3), "b": [2]}]))'
    ordered = 'case("values/1", call(x=[3, 1, 2])), case("sorted/1", call(x=[1, 2]))'
    exercises |= {
        "seeded": (function("x * seed", "seeded", "x, seed"), seeded),
        "changes": (function("x[1]['a'] * 2", "changes"), changed, KEEPS),
        "ordered": (function("sorted(x)", "ordered"), ordered, KEEPS),
        "in_order": (function("sorted(x)", "in_order"), ordered, KEEPS.replace("values", "sorted")),
        "graded": (function("{'a': x * 2, 'b': x.exp()}", "graded"), GRADIENT),
        "halved": (function(SCALED, "halved"), X, AGREES, "* 2.5 -> * 1.25"),
        "own": (function("x + 1", "own"), POSITIVE, LARGE, "x + 1 -> -x"),
    }
    write_course(root, exercises)
    (root / "graders" / "checks.py").write_text(OWN, encoding="utf-8")
    build(root)
    with closing(Judge(root)) as made:
        yield made


def says(text: str, said: str) -> bool:
    """Return True if a text has the words of a sentence around each `is`."""
    return all(words.lower() in text.lower() for words in re.split(r"\s*\bis\b\s*", said))


def passes(judge: Judge, name: str, text: str, said: str | None) -> None:
    """Fail if an answer does not get its points, or not these words; said: None if it is right."""
    text = f"{IMPORTS}\n{text}"
    found = judge(CHAPTER, name, text, public=True)
    assert (found.points == found.max_points) == (said is None), (text, found)
    assert said is None or says(found.message, said), (text, found)
    found = judge(CHAPTER, name, text, explain=False)
    assert (found.points == found.max_points) == (said is None), (text, found)


@pytest.mark.parametrize("name", KINDS)
def test_right_and_wrong_answers(judge, name):
    solution, right, wrong = KINDS[name]
    for returned in (solution, *right):
        passes(judge, name, function(returned, name), None)
    for returned, said in wrong.items():
        passes(judge, name, function(returned, name), said)


def test_an_argument_arrives_as_it_was_written(judge):
    for name, (_, returned) in ARGUMENTS.items():
        passes(judge, name, function(returned, name), None)
        passes(judge, name, function("x", name), "")
    passes(judge, "given_tuple", function("True", "given_tuple"), None)
    passes(judge, "seeded", function("x * seed", "seeded", "x, seed"), None)


CHANGES = ("x[1]['a'].zero_()", "x[1]['b'].append(4)", "x.append(3)", "x[1].pop('a')")


def test_inputs_are_kept_at_any_depth(judge):
    passes(judge, "changes", "def changes(x):\n    return x[1]['a'] * 2\n", None)
    for change in CHANGES:
        text = f"def changes(x):\n    y = x[1]['a'] * 2\n    {change}\n    return y\n"
        passes(judge, "changes", text, "changes the input `x` in place")


@pytest.mark.parametrize("name", CLASSES)
def test_an_object_keeps_what_it_holds(judge, name):
    text = CLASSES[name]
    changing = text.replace("        return", "        self.seen.append(1)\n        return")
    passes(judge, name, text, None)
    passes(judge, name, changing, "changes `self` itself")
    passes(judge, f"{name}Self", changing.replace(name, f"{name}Self"), None)
    passes(judge, name, text.replace("x * self.size", "x"), "just what was passed in")


def test_who_does_nothing_has_kept_no_input(judge):
    for returned, said in {
        "sorted(x)": None,
        "[*sorted(x), 1]": None,  # wrong, and for others to judge
        "x": "the result is just what was passed in",
        "None": "None: does your function end in a `return` with a value?",
        "len(x)": "the result is 3; a list of 3 is expected",
    }.items():
        passes(judge, "ordered", function(returned, "ordered"), said)
    passes(judge, "in_order", function("x", "in_order"), None)


def test_gradients_through_a_dict_of_results_are_judged(judge):
    for exp, said in (("x.exp()", None), ("x.detach().exp()", "gradient")):
        passes(judge, "graded", function(f"dict(a=x * 2, b={exp})", "graded"), said)


def test_mistakes_are_named_whatever_the_value_and_its_types(judge):
    wrong = function("OrderedDict(a=[x.sum().item() / 0.8, 'b'])", "halved")
    for public in (False, True):
        found = judge(CHAPTER, "halved", f"{IMPORTS}\n{wrong}", public=public)
        assert found.mistakes == ("halved_wrong",)


def test_checks_of_a_course_decide_and_points_in_its_settings_scale_theirs(judge):
    """It is worth 12 points, and its checks say 4. A check that cannot run is failed."""
    small = "torch.stack((x[0], -99 * x[1], x[2]))"
    passes(judge, "own", function(small, "own"), "it is small")
    for returned, points, mistakes in (
        ("x * 5", 12, ()),
        (small, 3, ()),
        ("x * 9999", 3, ()),  # the check divides by 0
        ("-x - 1", 6, ("own_wrong",)),  # it has the mistake's signs
    ):
        text = f"{IMPORTS}\n{function(returned, 'own')}"
        found = judge(CHAPTER, "own", text, explain=False)
        assert (found.points, found.max_points, found.mistakes) == (points, 12, mistakes), found


NO_RESULT = """class NAME(nn.Linear):
    \"\"\"Return nothing.\"\"\"

    ### BEGIN SOLUTION
    def forward(self, x):
        super().forward(x)
    ### END SOLUTION
"""
LOADED = (
    'construct(in_features=2, out_features=1), load({"weight": weights(1, 2), "bias": weights(1)})'
)
TWICE = 'call(x=normal(9, 9), result="plain"), call(x=normal(9, 9), result="dropped")'
# What a solution returns on cases for which it cannot be built, and why.
UNFIT = [
    ("(lambda: 1)", X, "`result` is an object of type function"),
    ("{'a': [1, object()]}", X, "`result['a'][1]` is an object of type object"),
    ("[[[[[[[[[[1]]]]]]]]]]", X, "nested more than 8 deep"),
    ("[n for n in range(10**5)]", X, "more than 20000 parts"),
    ("{'a': x.to_sparse()}", X, "a sparse tensor"),
    ("None", X, "the solution returns nothing that could be judged"),
    ("x.zero_() and None", X, "values/1: the solution raises RuntimeError"),
    ("x", 'case("values/1", call(x=1), signature="error")', "should refuse it, and does not"),
    ("{'a': x.detach()}", GRADIENT, "gradients are asked for, and no result"),
    (NO_RESULT, f'case("values/1", {LOADED}, call(x=normal(2)))', "returns nothing that could be"),
    ("1 / 0", X, "ZeroDivisionError: division by zero (NAME, return 1 / 0)"),
    ("x * 2", f'case("values/1", {TWICE}, signature="dropout")', "which argument"),
    ("x * seed", 'case("values/1", call(x=normal(2), seed=3))', "of that name goes into `named=`"),
]
UNDRAWN = [("x", 'case("values/1", call(x=[1, object()]))', "x[1] is an object of type object")]


@pytest.mark.parametrize("rows", [UNFIT, UNDRAWN], ids=["run", "drawn"])
def test_what_cannot_be_judged_is_an_error_of_the_build(tmp_path, rows):
    named = {f"exercise_{number}": row for number, row in enumerate(rows)}
    exercises = {name: (function(row[0], name), row[1]) for name, row in named.items()}
    for name, (text, case, _) in named.items():
        if text == NO_RESULT:
            exercises[name] = (text.replace("NAME", name), case, AGREES, "super() -> 2 * super()")
        if "seed" in text:
            exercises[name] = (function(text, name, "x, seed"), case)
    write_course(tmp_path, exercises)
    errors = refused(tmp_path).splitlines()
    told = {name: [one for one in errors if re.search(rf"{name}\b", one)] for name in named}
    for name, (_, _, said) in named.items():
        words = said.replace("NAME", name)
        assert any("values/1" in one and says(one, words) for one in told[name]), (said, told[name])
