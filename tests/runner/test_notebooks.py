"""Definitions are extracted from notebooks, wherever they are; other code is not."""

import json

import nbformat
import pytest

from tensorgrade.runner.loading import load_module
from tensorgrade.runner.reading import Cell, extract, source_in
from tensorgrade.runner.source import Unreadable


def loaded(*sources: str):
    """(names that the runner gets, problems, extracted source) of a notebook with these cells."""
    found = extract([Cell(source, str(number)) for number, source in enumerate(sources, 1)])
    module, problems = load_module("cells", found.text, "cells.ipynb")
    return {n for n in vars(module) if not n.startswith("__")}, problems, found


CALL = "def f():\n    return 7 \\\n        % 4\n!ls\nclass A:\n    !ls\n    b = 1"
BRANCHES = (
    "if True:\n    def f(x):\n        return x\n    print(f(1))\nelse:\n    print(2)",
    "try:\n    import not_there\nexcept ImportError:\n    class A: pass\nfinally:\n    x()",
    "if 1 > 2:\n    pass\nelif f(3):\n    from torch import nn",
)
TEXT = 'def good():\n    """Text\nat the left margin\n    """\n    return 1'
# Cells, the names that are there afterwards, and those that have a problem.
KEPT = {
    "definitions and constants": (
        (
            "import torch\nfrom torch import nn",
            "width = 3\nbatch = torch.ones(2)\nprint(batch)",
            "def f(x):\n    return x\nf(1)\nclass A(nn.Module):\n    pass\na = A()",
            "g = lambda x: x\nh = g",
            "for i in range(10**12):\n    pass\nwhile True:\n    pass",
        ),
        "torch nn width f A g h",
        [],
    ),
    "magics beside definitions": ((f"%load_ext autoreload\n{CALL}",), "f A", []),
    "branches": (BRANCHES, "f A nn", []),
    "branches without definitions": (
        ("if explode():\n    y = 1", "try:\n    explode()\nfinally:\n    z = 1"),
        "",
        [],
    ),
    "one line": (('print("größe"); a = 1; f(); b = 2; g()',), "a b", []),
    "a computed value": (
        ("queries = make()", "class A:\n    def forward(self):\n        return queries"),
        "A",
        [],
    ),
    "a cell that is indented": (("  def f(x):\n      return x\n\n  y = 1",), "f y", []),
    "a formula that begins with a percent sign": (
        ("value = (7\n% 4)\ndef f():\n    return (7\n% 4)",),
        "f",
        [],
    ),
    "tools of the course": (
        (
            "from tensorgrade.notebook import check\n"
            "import tensorgrade.learner.pictures as p\nimport os",
        ),
        "os",
        [],
    ),
    "a broken definition": (
        (
            "def good():\n    pass\ndef bad(:\n    pass\ndef also_good():\n    pass",
            "def more():\n    pass",
        ),
        "good also_good more",
        ["bad"],
    ),
    "a text at the margin": ((TEXT, "def bad(:\n    pass"), "good", ["bad"]),
    **{
        magic: ((f"{magic}\ndef f():\n    return 1",), "f", [])
        for magic in ("%%time", "%%timeit -n1")
    },
    **{
        value: (("import torch", f"V = {value}", "def f():\n    return V"), "torch V f", [])
        for value in ("-torch.inf", 'float("-inf")', "torch.exp", "torch.nn.functional")
    },
}


@pytest.mark.parametrize("name", KEPT)
def test_definitions_are_kept_and_the_rest_is_not(name):
    cells, kept, broken = KEPT[name]
    names, problems, _ = loaded(*cells)
    assert names == set(kept.split())
    assert [one for problem in problems for one in problem["names"]] == broken


@pytest.mark.parametrize(
    "cell",
    [
        "%matplotlib inline",
        "files = !ls",
        "x = %time 1",
        "f?",
        "%%bash\nls | wc",
        "await something()",
        "return 3",
        "import antigravity_that_is_not_there",
        "1 +",
        "exit()",
        "\tindented = 1",
        "'''never closed",
        "\0",
    ],
)
def test_no_cell_does_harm_to_another(cell):
    names, _, _ = loaded("def before():\n    pass", cell, "def after():\n    pass")
    assert {"before", "after"} <= names


def test_lines_are_counted_from_the_top_of_their_cell():
    _, problems, found = loaded("import torch\n\n", "x = 1\n\ndef bad(:\n    pass")
    assert found.place(problems[0]["error"]["line"]) == "cell 2, line 3"


# Texts that once crashed or stalled a parser.
HOSTILE = [
    "(" * 10**5,
    "-" * 10**5 + "1",
    "!x\n" * 5000,
    "if 1:\n" * 1000,
    "x = {[]: 1}",
    "x = 1\r y",
    "x = " + "+".join("1" * 5000),
    " " * 40_000 + "!",
    "a;" * 60_000,
    "x = (" * 90 + "1" + ")" * 90 + "\n" + "f(\n" * 5000,
]


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        "{}",
        '{"cells": 3}',
        '{"nbformat": 3, "worksheets": [{"cells": []}]}',
        '{"cells": [3]}',
        '{"cells": [{"cell_type": "code", "source": 3}]}',
        "[" * 100_000,
        '{"cells": [{"cell_type": "code", "metadata": 1}]}',
    ],
)
def test_what_is_no_notebook_is_refused_with_a_sentence(text):
    with pytest.raises(Unreadable, match=r"n\.ipynb"):
        source_in(text.encode("utf-8", "surrogatepass"), "n.ipynb")


def test_a_merge_conflict_is_reported_with_its_line_and_endless_code_refused():
    with pytest.raises(Unreadable, match=r"n\.ipynb .* damaged: line 2"):
        source_in(b'{\n<<<<<<< HEAD\n"cells": []}', "n.ipynb")
    endless = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1\n" * 200_000)])
    with pytest.raises(Unreadable, match="more than"):
        source_in(nbformat.writes(endless).encode(), "n.ipynb")


@pytest.mark.parametrize("bad", HOSTILE, ids=lambda text: text[:9])
def test_hostile_text_ends_soon(bad):
    assert "def f" in extract([Cell(bad, "1"), Cell("def f():\n    pass", "2")]).text


def test_an_exercise_in_a_branch_is_found_and_a_scratch_version_in_one_does_no_harm():
    own = Cell("if True:\n    def f(x):\n        return 1", "`f`", "f")
    scratch = Cell(
        "if True:\n    def f(x):\n        return 2\n    def g(): pass", "2", place="cell 2"
    )
    module, problems = load_module("cells", extract([own, scratch]).text, "cells.ipynb")
    assert module.f(0) == 1 and module.g and not problems


# --- which of several definitions counts ---------------------------------------------------------

STUB = "def double(x):\n    raise NotImplementedError"
DONE = "def double(x):\n    return 2 * x"
SCRATCH = "def double(x):\n    return 0"
MARKS = {"nbgrader": {"solution": True, "grade_id": "double"}}


def cell(source: str, own: bool = True, kind: str = "code") -> dict:
    """Return a cell of a notebook. own: whether it is marked as the exercise's."""
    return {"cell_type": kind, "source": source, "metadata": MARKS if own else {}}


def elsewhere(source: str) -> dict:
    """Return a cell that is marked as no exercise's."""
    return cell(source, own=False)


def doubled(*cells: dict):
    """Return the result of `double(3)` in a notebook, and the message on the choice."""
    content = json.dumps({"cells": [elsewhere("import math"), *cells]}).encode()
    found = source_in(content, "a.ipynb")
    module, problems = load_module("cells", found.text, "a.ipynb")
    assert not problems
    return module.double(3), dict(found.notes).get("double", "")


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ([cell(DONE), cell(STUB)], "code cell 2, not from code cell 3"),
        ([cell(SCRATCH), cell(DONE)], "code cell 3, not from code cell 2"),
        ([cell(DONE), elsewhere("double = 3")], ""),
        ([cell(DONE), elsewhere(SCRATCH)], "code cell 2, not from code cell 3"),
        ([elsewhere(SCRATCH), cell(DONE)], "code cell 3, not from code cell 2"),
        ([cell(STUB), elsewhere(DONE)], "code cell 3, not from code cell 2"),
        ([cell(DONE), cell(SCRATCH, kind="markdown")], ""),
        ([elsewhere(SCRATCH), elsewhere(DONE)], ""),
        ([elsewhere(DONE), elsewhere(STUB)], ""),
        ([cell(DONE), elsewhere("def double(x:\n    return 0")], "cell 2, not from code cell 3"),
    ],
)
def test_the_definition_that_is_meant_counts(cells, place):
    result, said = doubled(*cells)
    assert result == 6
    assert place in said and bool(said) == bool(place)
