"""Only what can act on nothing else is taken for plain, and what differs in effect differs."""

import pytest

from tensorgrade.runner.plain_code import contents

TOP = "import torch\nimport math\nfrom torch import nn\n"
ROWS = (
    "def rows(x):\n    weights = torch.exp(x)\n    return weights / weights.sum(-1, keepdim=True)\n"
)
LAYER = """
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d, self.inner = d, nn.Linear(d, d)

    def forward(self, x):
        return rows(self.inner(x)) * self.d
"""
PLAIN = TOP + ROWS + LAYER

# Each of them can have another definition do something else, or be done something else by one.
ACTS = {
    "an operation replaced": "torch.exp = torch.sin",
    "a method replaced": "torch.Tensor.exp = lambda x: x",
    "a method of a class of one's own replaced": "Layer.forward = rows",
    "an attribute of a function": "rows.sum = 1",
    "setattr": "setattr(torch, 'exp', torch.sin)",
    "an item of a namespace": "torch.__dict__['exp'] = torch.sin",
    "globals": "globals()['rows'] = abs",
    "exec": "exec('rows = 1')",
    "another import": "import sys",
    "an import of all": "from torch import *",
    "an import of what acts": "from torch import set_default_dtype",
    "an import in a function": "def f():\n    import sys",
    "a setting": "torch.set_default_dtype(torch.float16)",
    "a setting under another name": "def set_default_dtype(x):\n    return x\n"
    "torch.set_default_dtype(torch.float16)",
    "a module by another name": "t = torch",
    "a library's class by another name": "L = nn.Linear",
    "a class by another name": "L = Layer",
    "a class as self": "class Other:\n    def change(self):\n        self.forward = 1\n"
    "Other.change(Layer)",
    "a class as an argument": "def change(self):\n    self.forward = 1\nchange(Layer)",
    "a class as what super is of": "class Other(Layer):\n    def change(self):\n"
    "        super(Other, Layer).forward(1)",
    "self exchanged": "class Other:\n    def change(self, x):\n        self = x\n"
    "        self.forward = 1",
    "self of an inner function": "class Other:\n    def change(self, x):\n"
    "        def g(self):\n            self.forward = 1\n        g(x)",
    "a class's own state": "class Other:\n    seen = []",
    "a library's class changed": "nn.Module.train(nn.Linear, False)",
    "an attribute of a module's class": "def f(x):\n    return nn.Linear.forward(x, x)",
    "a default that lasts": "def f(x, seen=[]):\n    return seen",
    "a default that is computed": "def f(x, y=torch.ones(2)):\n    return y",
    "a decorator": "@torch.no_grad()\ndef f(x):\n    return x",
    "global": "def f():\n    global rows\n    rows = abs",
    "an attribute deleted": "def f(x):\n    del x.grad",
    "a dunder": "def f(x):\n    return x.__class__",
    "a frame": "class Other:\n    def gi_frame(self):\n        return 1\n"
    "def f(x):\n    return (i for i in x).gi_frame",
    "a hook": "class Other:\n    def __getattr__(self, name):\n        return 1",
    "a hint that computes": "def f(x: setattr(torch, 'exp', 1)):\n    return x",
    "a value that lasts": "seen = [1]\ndef f(x):\n    seen.append(x)\n    return seen",
    "a name bound twice": "def rows(x):\n    return x",
    "a name that is Python's": "def sum(x):\n    return x",
    "a name hidden": "def f(torch):\n    return torch.sin()",
    "a metaclass": "class Other(metaclass=Layer):\n    pass",
    "an error caught": "try:\n    rows(1)\nexcept Exception as error:\n    pass",
    "a condition": "if True:\n    def f(x):\n        return x",
    "a value that another scope hides": "seen = torch.ones(2)\ndef f(x):\n    def g():\n"
    "        seen = 1\n        return seen\n    return seen.add_(x) + g()",
    "its own name": "__name__ = '__main__'\nif __name__ == '__main__':\n    torch.exp = 1",
    "its own name in a loop": "for __name__ in ['__main__']:\n    pass",
    "a kind of its own": "class Other:\n    def change(self, x):\n        self.__class__ = x",
    "a walrus": "def f(x):\n    return (y := x)",
}


@pytest.mark.parametrize("name", ACTS)
def test_a_file_that_may_act_on_something_is_not_plain(name):
    assert set(contents(PLAIN)) == {"rows", "Layer"}
    assert contents(PLAIN + ACTS[name] + "\n") == {}


ALIKE = {
    "another name for a variable": ROWS.replace("weights", "w"),
    "a comment": ROWS.replace("return", "# the rows\n    return"),
    "a docstring": ROWS.replace("    weights =", '    """Rows."""\n    weights =', 1),
    "type hints": ROWS.replace("(x)", "(x: torch.Tensor) -> torch.Tensor", 1),
    "a hint in quotes": ROWS.replace("(x)", "(x: 'torch.Tensor')", 1),
    "other lines": ROWS.replace("torch.exp(x)", "(\n        torch.exp(x)\n    )"),
    "loose code": "data = [[1.0, 2.0]]\n" + ROWS + "print(rows(torch.tensor(data)).sum(-1))\n",
    "a part for programs": ROWS + 'if __name__ == "__main__":\n    rows(1)\n',
    "something that nothing calls": ROWS + "def other(x):\n    return x\n",
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_makes_no_difference_is_left_out(name):
    assert contents(TOP + ALIKE[name] + LAYER) == contents(PLAIN) | contents(TOP + ALIKE[name])


DIFFERENT = {
    "another operation": PLAIN.replace("torch.exp", "torch.sin"),
    "another number": PLAIN.replace("-1", "-2"),
    "another order": PLAIN.replace("weights / weights.sum", "weights.sum / weights"),
    "another argument": PLAIN.replace("(x)", "(y)", 2),
    "another module of that name": PLAIN.replace("import torch\n", "import math as torch\n", 1),
    "a constant": PLAIN.replace("exp(x)", "exp(x) * scale") + "scale = 2\n",
    "variables exchanged": PLAIN.replace(
        "return weights / weights", "w = x\n    return w / weights"
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_may_make_a_difference_is_seen(name):
    """In what it stands in, and in what calls that."""
    before, after = contents(PLAIN), contents(DIFFERENT[name])
    assert after.keys() == before.keys() == {"rows", "Layer"}
    assert after["rows"] != before["rows"] and after["Layer"] != before["Layer"]


def test_a_constant_is_part_of_what_reads_it():
    text = TOP + "scale = {}\n" + ROWS.replace("exp(x)", "exp(x) * scale")
    assert contents(text.format(2))["rows"] != contents(text.format(3))["rows"]


@pytest.mark.parametrize("text", ["def f(:", "x = " + "-" * 100_000 + "1", "\0", ""])
def test_of_what_is_no_python_nothing_is_told(text):
    assert contents(text) == {}


def test_what_takes_the_place_of_something_must_be_there():
    """It could take that of another definition else, whose name is like it."""
    assert contents(PLAIN, replaced=["Layer"]) == contents(PLAIN)
    assert contents(PLAIN, replaced=["Layers"]) == {}


def test_a_course_may_have_modules_of_its_own():
    text = "from earlier import rows\ndef f(x):\n    return rows(x)\n"
    assert set(contents(text, ["earlier"])) == {"f"} and contents(text) == {}
