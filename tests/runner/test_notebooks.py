"""Definitions are extracted from notebooks, wherever they are; other code is not."""

import json

import pytest

from tensorgrade.author import call
from tensorgrade.sources.submitted_files import SubmittedFiles

from ..support import loaded, looked, ran

# Its last cell: the names that are there when an exercise runs.
NAMES = "def names():\n    return ' '.join(n for n in globals() if n[0] != '_' and n != 'names')"


def submitted(content: bytes) -> SubmittedFiles:
    return SubmittedFiles("ada", "ch", "n.ipynb", content)


def cell(source: str, exercise: str = "") -> dict:
    """Return a cell of a notebook. exercise: the one that it is marked for."""
    marks = {"nbgrader": {"solution": True, "grade_id": exercise}} if exercise else {}
    return {"cell_type": "code", "source": source, "metadata": marks}


def notebook(*cells: str | dict) -> SubmittedFiles:
    """Return a notebook with these cells."""
    made = [cell(one) if isinstance(one, str) else one for one in cells]
    return submitted(json.dumps({"cells": made}).encode())


def names_in(*cells: str) -> set[str]:
    """Return the names that are there after these cells."""
    return set(ran(notebook(*cells, NAMES), "names", call()).value("result").split())


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
    assert names_in(*cells) == set(kept.split())
    problems = loaded(notebook(*cells)).problems
    assert [one for problem in problems for one in problem.names] == broken


@pytest.mark.parametrize(
    "odd",
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
def test_no_cell_does_harm_to_another(odd):
    cells = ("def before():\n    pass", odd, "def after():\n    pass")
    assert {"before", "after"} <= set(loaded(notebook(*cells)).names)


def test_lines_are_counted_from_the_top_of_their_cell():
    files = notebook("import torch\n\n", "x = 1\n\ndef bad(:\n    pass")
    (problem,) = loaded(files).problems
    assert looked(files).source.place(problem.error.line) == "cell 2, line 3"


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
    with pytest.raises(Exception, match=r"n\.ipynb"):
        looked(submitted(text.encode()))


def test_a_merge_conflict_is_reported_with_its_line_and_endless_code_refused():
    with pytest.raises(Exception, match=r"n\.ipynb .* damaged: line 2"):
        looked(submitted(b'{\n<<<<<<< HEAD\n"cells": []}'))
    with pytest.raises(Exception, match="more than"):
        looked(notebook("x = 1\n" * 200_000))


@pytest.mark.parametrize("bad", HOSTILE, ids=lambda text: text[:9])
def test_hostile_text_ends_soon(bad, monkeypatch):
    monkeypatch.setattr("tensorgrade.runner.serve.looked_at", lambda *_: {})  # it has a limit
    assert "def f" in looked(notebook(bad, "def f():\n    pass")).source.text


# --- which of several definitions counts ---------------------------------------------------------

STUB = cell("def double(x):\n    raise NotImplementedError", "double")
DONE = cell("def double(x):\n    return 2 * x", "double")
SCRATCH = cell("def double(x):\n    return 0", "double")
IN_A_BRANCH = cell("if True:\n    def double(x):\n        return 2 * x", "double")


def elsewhere(one: dict) -> dict:
    """Return a cell without its mark."""
    return one | {"metadata": {}}


@pytest.mark.parametrize(
    ("cells", "place"),
    [
        ([DONE, STUB], "code cell 2, not from code cell 3"),
        ([SCRATCH, DONE], "code cell 3, not from code cell 2"),
        ([DONE, "double = 3"], ""),
        ([DONE, elsewhere(SCRATCH)], "code cell 2, not from code cell 3"),
        ([elsewhere(SCRATCH), DONE], "code cell 3, not from code cell 2"),
        ([STUB, elsewhere(DONE)], "code cell 3, not from code cell 2"),
        ([DONE, SCRATCH | {"cell_type": "markdown"}], ""),
        ([elsewhere(SCRATCH), elsewhere(DONE)], ""),
        ([elsewhere(DONE), elsewhere(STUB)], ""),
        ([DONE, "def double(x:\n    return 0"], "cell 2, not from code cell 3"),
        (["if 1:\n    def double(x):\n        return 0\n    def g(): pass", IN_A_BRANCH], "cell 3"),
    ],
)
def test_the_definition_that_is_meant_counts(cells, place):
    files = notebook("import math", *cells)
    assert not loaded(files).problems
    assert ran(files, "double", call(x=3)).value("result") == 6
    said = dict(looked(files).source.notes).get("double", "")
    assert place in said and bool(said) == bool(place)
