"""Facts of a text that has not run: changes of given code, and names from elsewhere."""

import pytest

from ..support import looked

GIVEN = '''import torch

def f(x, dim=-1):
    """Return x over its sum."""
    whole = x.sum(dim, keepdim=True)
    return x * whole
'''
MENDED = GIVEN.replace("x * whole", "x / whole")
SAME = {
    "unchanged": GIVEN,
    "with a comment": GIVEN.replace("return x", "# hm\n    return x"),
    "without its docstring": GIVEN.replace('    """Return x over its sum."""\n', ""),
    "with type hints": GIVEN.replace("(x, dim=-1)", "(x: torch.Tensor, dim: int = -1) -> int"),
    "broken otherwise": GIVEN.replace("x * whole", "(\n        x\n        * whole\n    )"),
    "beside other code": f"y = 1\n{GIVEN}\ndef g():\n    return 2\n",
    "beside broken code": f"def g(:\n    pass\n{GIVEN}",
    "defined once more": f"def f(x):\n    return 1\n{GIVEN}",
}
INSIDE = "\n".join(f"    {line}" for line in MENDED.splitlines())


COUNTED = {
    **dict.fromkeys(SAME.values(), 0),
    MENDED: 1,
    f"if True:\n{INSIDE}": 1,
    f"try:\n{INSIDE}\nexcept ImportError:\n    y = 1\n": 1,
    f"if unknown():\n{INSIDE}\nelse:\n{INSIDE}\n": None,
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
    assert looked(text, {"f": GIVEN}).changes.get("f") == parts


WAYS = ["globals()['ri' 'ght'[:9]](x, dim)", "__import__('me').right(x, dim)"]
WAYS += ["run('x / x.sum(dim, keepdim=True)')"]
REWRITES = [f"from builtins import eval as run\n{GIVEN.replace('x * whole', way)}" for way in WAYS]
REWRITES.append("def f(x, dim=-1):\n    return torch.softmax(x, dim)")
REWRITES.append("def swap(_): return lambda x: x\n" + GIVEN.replace("def f", "@swap\ndef f"))


@pytest.mark.parametrize("text", REWRITES)
def test_a_rewrite_and_code_made_in_a_text_count_for_more(text):
    assert looked(text, {"f": GIVEN}).changes["f"] > 10


@pytest.mark.parametrize(
    "body",
    ["-" * 3000 + "x", "x" + " + x" * 3000, "0x" + "f" * 9000, "x\n" * 5000, "[" * 150 + "]" * 150],
)
def test_endless_code_is_counted_or_left_out_and_ends_nothing(body):
    text = f"def f(x):\n    return {body}".replace("\nx", "\n    x")
    found = looked(text, {"f": GIVEN}).changes
    assert found == {} or found["f"] > 10


# --- names that a text does not define -----------------------------------------------------------


EXERCISES = {"softmax": "", "softmax_naive": ""}
NAMED = {
    "a function of torch": "import torch\ndef softmax(x): return torch.softmax(x, -1)",
    "an import inside": "def softmax(x):\n    from torch import softmax as s\n    return s(x, -1)",
    "everything imported": "from torch import *\ndef softmax_naive(x): return softmax(x, -1)",
    "a helper of a helper": "def a(x): return x.softmax(-1)\ndef b(x): return a(x)\n"
    "def softmax(x): return b(x)",
    "getattr": "import torch\ndef softmax(x): return getattr(torch, 'softmax')(x, -1)",
    "code that never runs": "def softmax(x):\n    if 0:\n        x.softmax(-1)\n    return x",
}
UNNAMED = {
    "a docstring": "def softmax(x):\n    'Not torch.softmax.'\n    return x",
    "itself": "def softmax(x, again=True): return softmax(x, False) if again else x",
    "another exercise": "def softmax(x): return x.softmax()\n"
    "def softmax_naive(x): return softmax(x)",
    "a variable": "def softmax_naive(x):\n    softmax = x.exp()\n    return softmax",
    "another import of the line": "from torch import exp, softmax as s\n"
    "def softmax(x): return exp(x)",
    "other code of the file": "def softmax(x): return x\nprint(softmax(1), torch.softmax)",
}


@pytest.mark.parametrize("way", NAMED)
def test_what_a_text_takes_from_elsewhere_is_found(way):
    found = looked(NAMED[way], EXERCISES).names
    assert any("softmax" in names for names in found.values())


@pytest.mark.parametrize("way", UNNAMED)
def test_what_is_its_own_is_not(way):
    found = looked(UNNAMED[way], EXERCISES).names
    name = "softmax_naive" if "softmax_naive" in found else "softmax"
    assert "softmax" not in found[name]


def test_an_exercise_that_is_not_in_the_text_has_no_names():
    assert looked("softmax = max", EXERCISES).names == {}
    assert looked("\0", EXERCISES).names == looked("((", EXERCISES).names == {}
