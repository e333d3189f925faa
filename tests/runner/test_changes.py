"""Code that was given with a mistake: how much of it is changed, and what of a text is run."""

import ast
import json

import pytest

from tensorgrade.runner.facts import changes, definition_alone
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


COUNTED = {
    **dict.fromkeys(SAME.values(), 0),
    MENDED: 1,
    MENDED.replace("dim, keepdim=True", "dim, True"): 2,
    GIVEN.replace("-1", "1"): 2,
    GIVEN.replace("-1", "True"): 3,
    GIVEN.replace("    return", "    whole = 1 / whole\n    return"): 6,
    **dict.fromkeys(["", "f = 1", f"{GIVEN}f = max", f"{GIVEN}from math import sin as f"]),
    **dict.fromkeys(["f = lambda x: x", "def g(x): return x", "\0", "(("]),
}


@pytest.mark.parametrize("text, parts", COUNTED.items())
def test_every_part_that_differs_counts_once(text, parts):
    """What changes nothing in the tree does not count; without the definition there is no count."""
    assert changes(text, {"f": GIVEN}).get("f") == parts


WAYS = [
    "globals()['right'](x, dim)",
    "globals()['ri' 'ght'[:9]](x, dim)",
    "__import__('me').right(x, dim)",
    "eval('x / x.sum(dim, keepdim=True)')",
    "run('x / x.sum(dim, keepdim=True)')",
]
REWRITES = [f"from builtins import eval as run\n{GIVEN.replace('x * whole', way)}" for way in WAYS]
REWRITES.append("def f(x, dim=-1):\n    return torch.softmax(x, dim)")
REWRITES.append("def swap(_): return lambda x: x\n" + GIVEN.replace("def f", "@swap\ndef f"))


@pytest.mark.parametrize("text", REWRITES)
def test_a_rewrite_and_code_made_in_a_text_count_for_more(text):
    assert changes(text, {"f": GIVEN})["f"] > 10


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


def run_alone(text: str) -> list[str]:
    return [ast.unparse(one) for one in definition_alone(text, "f", GIVEN)]


def test_nothing_of_a_text_is_run_beside_the_definition():
    more = "import sys\nfrom math import *\ndef g(x): return x\nf.x = 1\nif True: f = g\n"
    course, definition = (ast.unparse(one) for one in ast.parse(GIVEN).body)
    assert run_alone(f"{more}{GIVEN}{more}") == [course, definition]


def test_imports_that_the_definition_reads_are_kept():
    text = "import torch.nn as nn\nfrom math import sin, cos\nimport os\n" + MENDED.replace(
        "x / whole", "nn.functional.relu(x) / sin(whole)"
    )
    assert run_alone(text)[:-1] == [
        "import torch",
        "import torch.nn as nn",
        "from math import sin, cos",
    ]


INSIDE = "\n".join(f"    {line}" for line in MENDED.splitlines())


@pytest.mark.parametrize(
    "text",
    [f"if True:\n{INSIDE}", f"try:\n{INSIDE}\nexcept ImportError:\n    y = 1\n"],
    ids=["if", "try"],
)
def test_the_only_definition_counts_in_a_branch_too(text):
    assert changes(text, {"f": GIVEN}) == {"f": 1}
    assert run_alone(text)[-1].endswith("return x / whole")


def test_of_two_definitions_in_branches_none_counts():
    text = f"if unknown():\n{INSIDE}\nelse:\n{INSIDE}\n"
    assert changes(text, {"f": GIVEN}) == {} and run_alone(text) == []
