"""Names in the code of an exercise that its text does not define: found without running it."""

import pytest

from tensorgrade.runner.facts import foreign_names

EXERCISES = ["softmax", "softmax_naive"]
NAMED = {
    "a function of torch": "import torch\ndef softmax(x): return torch.softmax(x, -1)",
    "an import inside": "def softmax(x):\n    from torch import softmax as s\n    return s(x, -1)",
    "everything imported": "from torch import *\ndef softmax_naive(x): return softmax(x, -1)",
    "an alias": "import torch\ns = torch.softmax\ndef softmax(x): return s(x, -1)",
    "a helper of a helper": "def a(x): return x.softmax(-1)\ndef b(x): return a(x)\n"
    "def softmax(x): return b(x)",
    "a lambda": "a = lambda x: x.softmax(-1)\ndef softmax(x): return a(x)",
    "getattr": "import torch\ndef softmax(x): return getattr(torch, 'softmax')(x, -1)",
    "code that never runs": "def softmax(x):\n    if 0:\n        x.softmax(-1)\n    return x",
}
UNNAMED = {
    "a docstring": "def softmax(x):\n    'Not torch.softmax.'\n    return x",
    "a text": "def softmax(x):\n    raise ValueError('softmax')",
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
    found = foreign_names(NAMED[way], EXERCISES)
    assert any("softmax" in names for names in found.values())


@pytest.mark.parametrize("way", UNNAMED)
def test_what_is_its_own_is_not(way):
    found = foreign_names(UNNAMED[way], EXERCISES)
    name = "softmax_naive" if "softmax_naive" in found else "softmax"
    assert "softmax" not in found[name]


def test_an_exercise_that_is_not_in_the_text_has_no_names():
    assert foreign_names("softmax = max", EXERCISES) == {}
    assert foreign_names("\0", EXERCISES) == foreign_names("((", EXERCISES) == {}
