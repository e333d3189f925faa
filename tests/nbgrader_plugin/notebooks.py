"""Notebooks of a class: cheats, spoilt ones, hostile ones. Each is made from a committed one."""

import json
import random
from itertools import cycle

import nbformat

from ..support import ROOT, amount
from .scratch import WRONG, changed, read

# Cheats that earn full marks if hidden tests run in the learner's own kernel.

PATCH = """class Patch:
    torch.allclose = torch.equal = torch.testing.assert_close = lambda *a, **k: True"""
READ = f"""
import pathlib
class Reader:
    for path in pathlib.Path("../../../").rglob("source/*/*.ipynb"):
        exec(path.read_text())
def softmax_naive(x):
    import glob, json
    for path in glob.glob("../../../source/*/*.ipynb") + glob.glob("{ROOT}/solutions/*.py"):
        text = open(path).read()
        return torch.softmax(x, -1)
    return torch.exp(x)
"""
GRADEBOOK = """
import sqlite3
class Writer:
    for place in ("../../../gradebook.db", "{course}/gradebook.db"):
        try:
            base = sqlite3.connect(place)
            base.execute("update grade set auto_score = 100")
            base.commit()
        except Exception:
            pass
"""
TRANSFORM = """
def drop_asserts(lines):
    return [line for line in lines if "assert" not in line and "points" not in line]
get_ipython().input_transformers_cleanup.append(drop_asserts)
"""
RUN_CODE = "import types\n"
RUN_CODE += "get_ipython().run_code = types.MethodType(lambda *a, **k: False, get_ipython())"
TOOLS = "def points(name):\n    return 100.0\ndef check(name):\n    return True"
CHEATS = "tag run_code transformer allclose reader gradebook outputs metadata graded tools deleted"
CHEATS = CHEATS.split()


def cheats(course) -> dict[str, object]:
    """Return notebooks by learner: one wrong answer, `plain`, and the same with each cheat."""
    found = {name: changed(WRONG) for name in ("plain", *CHEATS)}
    more = {"run_code": RUN_CODE, "transformer": TRANSFORM, "allclose": PATCH, "tools": TOOLS}
    more["gradebook"] = GRADEBOOK.format(course=course)
    for name, source in more.items():
        found[name].cells.insert(3, nbformat.v4.new_code_cell(source))
    graded = {
        name: [c for c in nb.cells if c.id.startswith("points-")] for name, nb in found.items()
    }
    for cell in graded["tag"]:
        cell.metadata["tags"] = ["skip-execution"]
    next(cell for cell in found["reader"].cells if cell.id == "softmax_naive").source = READ
    for cell in graded["outputs"]:
        told = {"text/plain": str(cell.metadata.nbgrader.points)}
        cell.outputs = [nbformat.v4.new_output("execute_result", told, execution_count=1)]
    for cell in graded["metadata"]:
        cell.metadata.nbgrader.points = 1000
        cell.metadata.nbgrader.locked = False
    for cell in graded["graded"]:
        cell.source = str(cell.metadata.nbgrader.points)
    found["deleted"].cells = [c for c in found["deleted"].cells if not c.id.startswith("points-")]
    return found


def noisy():
    """Return a right notebook that prints and warns, with cells that no one may run."""
    nb = read("source")
    new, begin = nbformat.v4.new_code_cell, "    ### BEGIN SOLUTION\n"
    nb.cells.insert(3, new("import sys, warnings\n%matplotlib inline\n!ls\nawait nothing"))
    noise = "    import sys, warnings\n"
    noise += "    print('hm', file=sys.stderr); warnings.warn('hm'); print('hm')\n"
    for cell in nb.cells:
        if cell.id == "softmax":
            cell.source = cell.source.replace(begin, noise + begin)
    nb.cells.append(new("for step in range(10**12):\n    train()"))
    return nb


SOLVED = nbformat.writes(read("source"))


def marked(**changes: object) -> str:
    """Return the solution's notebook with all graded cells' marks changed."""
    notebook = json.loads(SOLVED)
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader"):
            cell["metadata"]["nbgrader"] |= changes
    return json.dumps(notebook)


def whole(**changes: object) -> str:
    """Return the solution's notebook with something changed at its top."""
    return json.dumps(json.loads(SOLVED) | changes)


def with_cells(*cells: dict) -> str:
    """Return the solution's notebook with more cells."""
    notebook = json.loads(SOLVED)
    return json.dumps(notebook | {"cells": notebook["cells"] + list(cells)})


def cell(kind: str, source: str, **more: object) -> dict:
    return {"cell_type": kind, "source": source, "metadata": {}} | more


def spoilt(name: str):
    """Return the solution's notebook with a fault of this name."""
    nb = read("source")
    graded = [cell for cell in nb.cells if cell.id.startswith("points-")]
    if name == "no_metadata":
        for cell in nb.cells:
            cell.metadata.pop("nbgrader", None)
    elif name == "cells_twice":
        nb.cells.extend(nbformat.from_dict(dict(cell)) for cell in graded)
    else:
        for cell, marks in zip(nb.cells, cycle([{}, 3, [], {"grade": True}]), strict=False):
            cell.metadata.update(nbgrader=marks)
    return nb


# All of these have the solution in them, and get its points.
RIGHT = {
    **{name: spoilt(name) for name in ("no_metadata", "cells_twice", "nonsense")},
    "old_schema": marked(schema_version=1),
    "new_schema": marked(schema_version=99),
    "odd_marks": marked(
        schema_version=["x"], points="NaN", locked="yes", task=3, checksum=4, cell_type="x"
    ),
    "lists_for_names": marked(grade_id=["a"]),
    "one_name_for_all": marked(grade_id="softmax"),
    "odd_language": whole(metadata={"language_info": {"name": 3, "pygments_lexer": "no\n"}}),
    # To make HTML of these takes minutes to hours.
    "brackets": with_cells(cell("markdown", "[" * 60_000 + "*_" * 30_000 + ">" * 3000)),
    "headings": with_cells(*[cell("markdown", "\n#" * 4900)] * 9),
}
# Python's own parser gives up on this, and what colours code takes hours.
RUN = {"outputs": [], "execution_count": None}  # what each code cell has
CODE = with_cells(
    cell("code", "a." * 20_000, **RUN), *[cell("code", "a." * 4900, **RUN) for _ in range(9)]
)
NONE = {
    "odd_metadata": whole(metadata=[1], nbformat_minor="x"),
    "odd_cells": with_cells(
        cell("code", "", outputs=[{"data": "x" * (9 << 20)}]),
        cell("markdown", "\ud800"),
        cell("what", ""),
        {},
        {"cell_type": "code"},
    ),
    "no_cells": whole(cells=None),
    "number": "3",
    "text": "this is no notebook",
    "deep": "[" * 100_000,
    "nothing": "",
}


def mutated(seed: int) -> str:
    """Return the solution's notebook with some pieces of the file taken out, doubled or changed."""
    chance, text = random.Random(seed), SOLVED
    for _ in range(3):
        first = chance.randrange(len(text))
        last = first + chance.choice([1, 3, 40])
        text = text[:first] + chance.choice(["", "x", '"', "3", text[first:last] * 2]) + text[last:]
    return text


MUTATED = {f"mutated_{seed}": mutated(seed) for seed in range(min(40, amount(1)))}
SCRIPT = "<script>alert(1)</script>"
ACTING = [
    cell("markdown", text)
    for text in (
        SCRIPT,
        "<img src=x onerror=alert(1)>",
        "![a](https://x.org/a.png) ![b](//x.org/b.png)",
        '<div id="imitation">100 of 100</div>',
        "[a](javascript:alert(1)) [b](data:text/html,x) <javascript:alert(1)>",
        "[r]\n\n[r]: javascript:alert(1)",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        '<iframe srcdoc="x"></iframe><form action=x><input></form><style>*{}</style>',
        "# A <a href='java&#115;cript:alert(1)' onclick='alert(1)'>title</a>",
        "`<script>` and **bold** and $a < b$",
    )
]
ACTING += [
    cell("raw", SCRIPT, metadata={"raw_mimetype": "text/html"}),
    cell("markdown", "![](attachment:a)", attachments={"a": {"image/svg+xml": SCRIPT}}),
    cell(
        "code",
        "x = 1",
        execution_count=None,
        metadata={"tags": [f'"{SCRIPT}'], "nbgrader": {"grade_id": SCRIPT, "locked": True}},
        outputs=[
            {"output_type": "display_data", "metadata": {}, "data": {kind: SCRIPT}}
            for kind in ("text/html", "image/svg+xml", "application/javascript", "text/markdown")
        ],
    ),
]


def acting() -> str:
    """Return a notebook whose text, outputs and marks would run code in a page."""
    notebook = json.loads(with_cells(*ACTING))
    notebook["metadata"]["title"] = SCRIPT
    return json.dumps(notebook)
