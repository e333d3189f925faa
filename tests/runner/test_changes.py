"""How much of code that was given is changed: counted on its tree, whatever the text is."""

import json

import pytest

from tensorgrade.runner.changes import changes
from tensorgrade.runner.reading import source_that_counts

GIVEN = '''import torch

def f(x, dim=-1):
    """Return x over its sum."""
    whole = x.sum(dim, keepdim=True)
    return x * whole
'''
MENDED = GIVEN.replace("x * whole", "x / whole")
SAME = {
    "as it is": GIVEN,
    "with a comment": GIVEN.replace("return x", "# hm\n    return x"),
    "without its docstring": GIVEN.replace('    """Return x over its sum."""\n', ""),
    "with type hints": GIVEN.replace("(x, dim=-1)", "(x: torch.Tensor, dim: int = -1) -> int"),
    "broken otherwise": GIVEN.replace("x * whole", "(\n        x\n        * whole\n    )"),
    "beside other code": f"y = 1\n{GIVEN}\ndef g():\n    return 2\n",
    "beside broken code": f"def g(:\n    pass\n{GIVEN}",
    "defined once more": f"def f(x):\n    return 1\n{GIVEN}",
}


@pytest.mark.parametrize("how", SAME)
def test_what_changes_nothing_in_the_tree_does_not_count(how):
    assert changes(SAME[how], {"f": GIVEN}) == {"f": 0}


@pytest.mark.parametrize(
    "text, parts",
    [
        (MENDED, 1),
        (MENDED.replace("dim, keepdim=True", "dim, True"), 2),
        (GIVEN.replace("-1", "1"), 2),
        (GIVEN.replace("-1", "True"), 3),
        (GIVEN.replace("    return", "    whole = 1 / whole\n    return"), 6),
    ],
)
def test_every_part_counts_once(text, parts):
    assert changes(text, {"f": GIVEN})["f"] == parts


def test_a_rewrite_counts_for_more():
    assert changes("def f(x, dim=-1):\n    return torch.softmax(x, dim)", {"f": GIVEN})["f"] > 10


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f = 1",
        GIVEN + "f = max",
        GIVEN + "from math import sin as f",
        "f = lambda x: x",
        "def g(x): return x",
        "\0",
        "((",
    ],
)
def test_what_is_no_definition_has_no_count(text):
    assert changes(text, {"f": GIVEN}) == {}


@pytest.mark.parametrize(
    "body",
    ["-" * 3000 + "x", "x" + " + x" * 3000, "0x" + "f" * 9000, "x\n" * 5000, "[" * 150 + "]" * 150],
)
def test_endless_code_is_counted_or_left_out_and_ends_nothing(body):
    found = changes(f"def f(x):\n    return {body}".replace("\nx", "\n    x"), {"f": GIVEN})
    assert found == {} or found["f"] > 10


@pytest.mark.parametrize(
    "notebook, counts",
    [(SAME["with a comment"], "a.py"), (MENDED, "a.ipynb"), (f"{GIVEN}def g(): return 1", "a.py")],
)
def test_a_notebook_with_the_code_that_was_given_is_not_begun(notebook, counts):
    cells = [{"cell_type": "code", "source": notebook, "metadata": {}, "outputs": []}]
    content = json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    exercises = {"f": GIVEN, "to_write": ""}
    found = source_that_counts(content.encode(), "a.ipynb", MENDED.encode(), exercises)
    assert found.filename == counts


def test_who_hands_a_bug_on_has_changed_all_of_it():
    given = "def half(x, by=2):\n    return x / (by + 1)"
    right = "def whole(x, by=2):\n    return x / by\n"
    handed_on = right + "def half(x, by=2):\n    return whole(x, by)\n    return x / (by + 1)"
    helped = "def two(x):\n    return 2\ndef half(x, by=2):\n    return x / by"
    alone = right + "def half(x, by=2): return whole(x, by)"
    decorated = f"{right}def swap(_): return lambda *all: whole(*all)\n@swap\n{given}"
    for text in (handed_on, alone, decorated):
        assert changes(text, {"half": given})["half"] > 10
    assert changes(helped, {"half": given}) == {"half": 3}
    classes = "class A:\n    def __init__(self, d): pass\nclass B:\n    def __init__(self, d):"
    assert changes(f"{classes} A.__init__(self, d)", {"B": classes + " self.d = d"})["B"] >= 7


OTHER = "def right(x, dim=-1):\n    return x / x.sum(dim, True)\n"
WAYS = {
    "by name": "right(x, dim)",
    "by a text": "globals()['right'](x, dim)",
    "by a text that is put together": "globals()['ri' 'ght'[:9]](x, dim)",
    "by an import": "__import__('me').right(x, dim)",
    "by another name": "also(x, dim)",
    "by one between": "between(x, dim)",
    "by a lambda": "short(x, dim)",
}
BETWEEN = (
    "also = right\nshort = lambda *given: right(*given)\ndef between(a, b): return right(a, b)\n"
)


@pytest.mark.parametrize("way", WAYS)
def test_who_comes_to_a_definition_that_takes_the_same_has_changed_all(way):
    short = f"{OTHER}{BETWEEN}def f(x, dim=-1):\n    return {WAYS[way]}\n"
    kept = f"{OTHER}{BETWEEN}{GIVEN.replace('x * whole', WAYS[way])}"
    for text in (short, kept):
        assert changes(text, {"f": GIVEN})["f"] > 10


def test_a_helper_of_ones_own_is_no_other_answer():
    helper = "EPS = 0.0\ndef over(a, b):\n    return a / (b + EPS)\n"
    text = f"{OTHER}{helper}{GIVEN.replace('x * whole', 'over(x, whole)')}"
    assert changes(text, {"f": GIVEN})["f"] < 10
