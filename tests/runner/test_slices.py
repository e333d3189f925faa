"""All that a definition can reach is in its slice, and comments and other definitions are not."""

import pytest

from tensorgrade.runner.slices import MOST_STATEMENTS, slices
from tensorgrade.runner.source import UNPARSABLE

TEXT = """
import torch
from torch import nn
scale = 2

def total(x):
    return x.sum()

def rows(x):  # one by one
    weights = x * scale
    return weights / total(weights)

class Layer(nn.Module):
    def forward(self, x, f=rows):
        return f(x)

weights = rows(torch.ones(2))
"""


def reach(text: str, name: str) -> str:
    statements, reached = slices(text)
    return "\n".join(statements[number] for number in reached[name])


def test_a_slice_holds_what_is_spoken_of_and_nothing_else():
    assert reach(TEXT, "total") == "def total(x):\n    return x.sum()"
    rows = reach(TEXT, "rows")
    assert "def total" in rows and "scale = 2" in rows
    assert "class" not in rows and "ones" not in rows and "import" not in rows and "#" not in rows
    layer = reach(TEXT, "Layer")
    assert rows in layer and "from torch import nn" in layer and "import torch\n" not in layer


CHANGES = {
    "a helper": ("x.sum()", "x.mean()"),
    "a constant": ("scale = 2", "scale = 3"),
    "a second constant": ("scale = 2", "scale = 2\nscale = 3"),
    "a constant in a condition": ("scale = 2", "scale = 2\nif True:\n    scale = 3"),
    "a constant in a loop": ("scale = 2", "scale = 2\nfor scale in [3]:\n    pass"),
    "a constant that a function changes": (
        "scale = 2",
        "scale = 2\ndef change():\n    global scale\n    scale = 3",
    ),
    "a constant taken away": ("scale = 2", "scale = 2\nweights = 1\ndel scale"),
    "a helper by another way": ("def total", "total = max\ndef total"),
    "an import": ("def total", "from math import floor as total\ndef total"),
    "the definition once more": ("class Layer", "def rows(x):\n    return x\n\nclass Layer"),
    "a name in a function within": (
        "return weights / total(weights)",
        "def inner():\n        return torch.ones(1)\n    return inner() * total(weights) / weights",
    ),
    "a decorator": ("def rows", "@torch.no_grad()\ndef rows"),
    "a default": ("def rows(x)", "def rows(x, scale=scale)"),
    "a type hint": ("def rows(x)", "def rows(x: torch.Tensor)"),
    "a docstring": ("    weights =", '    "Rows."\n    weights ='),
    "a number of another type": ("scale = 2", "scale = 2.0"),
    "a value before": ("import torch\n", "scale = [2]\nimport torch\n"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_may_make_a_difference_is_in_it(name):
    """Also in the slice of what calls it."""
    text = TEXT.replace(*CHANGES[name], 1)
    assert text != TEXT
    assert reach(text, "rows") != reach(TEXT, "rows")
    assert reach(text, "Layer") != reach(TEXT, "Layer")


SAME = {
    "a comment": ("# one by one", "# row by row"),
    "other lines": ("x * scale", "(\n        x * scale\n    )"),
    "another value for a name that is local": ("weights = rows(torch.ones(2))", "weights = 1"),
    "something that nothing calls": ("class Layer", "def other(x):\n    return x\n\nclass Layer"),
    "loose code": ("class Layer", "print(1)\n\nclass Layer"),
}


@pytest.mark.parametrize("name", SAME)
def test_what_stands_beside_it_is_not(name):
    text = TEXT.replace(*SAME[name], 1)
    assert text != TEXT
    assert all(reach(text, one) == reach(TEXT, one) for one in ("total", "rows", "Layer"))


def test_of_a_very_large_file_nothing_is_told():
    assert slices("x = 1\n" * (MOST_STATEMENTS + 1)) == ([], {})


@pytest.mark.parametrize("text", ["def f(:", "x = " + "-" * 50_000 + "1", "\0"])
def test_of_what_is_no_python_nothing_is_told(text):
    with pytest.raises(UNPARSABLE):
        slices(text)
