"""A class with odd notebooks in nbgrader: each learner gets points and a page, and no code runs."""

import json
import os
import random
import re

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.api import Gradebook
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config.loader import PyFileConfigLoader

from tensorgrade.course_sources import load_course
from tensorgrade.nbgrader_plugin.autograding import STATES, graded_card
from tensorgrade.nbgrader_plugin.feedback import MOST_TAGS

from ..commands import ROOT
from .test_nbgrader_cycle import CH1, MOST, Scratch, read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]
HONEST = ("aaa", "mmm", "xavier", "zzz")
SOLVED = nbformat.writes(read("source", CH1))


def spoilt(**changes: object) -> str:
    """The solution's notebook with all graded cells' marks changed."""
    notebook = json.loads(SOLVED)
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader"):
            cell["metadata"]["nbgrader"] |= changes
    return json.dumps(notebook)


def whole(**changes: object) -> str:
    """The solution's notebook with something changed at its top."""
    return json.dumps(json.loads(SOLVED) | changes)


def with_cells(*cells: dict) -> str:
    """The solution's notebook with more cells."""
    notebook = json.loads(SOLVED)
    return json.dumps(notebook | {"cells": notebook["cells"] + list(cells)})


def cell(kind: str, source: str, **more: object) -> dict:
    return {"cell_type": kind, "source": source, "metadata": {}} | more


# All of these have the solution in them, and get its points.
RIGHT = {
    "old_schema": spoilt(schema_version=1),
    "new_schema": spoilt(schema_version=99),
    "no_schema": spoilt(schema_version=["x"]),
    "odd_points": spoilt(points="NaN"),
    "odd_flags": spoilt(locked="yes", task=3, checksum=4, cell_type="x"),
    "lists_for_names": spoilt(grade_id=["a"]),
    "one_name_for_all": spoilt(grade_id="softmax"),
    "odd_minor": whole(nbformat_minor="x"),
    "odd_metadata": whole(metadata=[1]),
    "huge_metadata": whole(metadata={"x": ["y" * 1000] * 5000}),
    "odd_language": whole(metadata={"language_info": {"name": 3, "pygments_lexer": "no\n"}}),
    "outputs": with_cells(cell("code", "", outputs=[{"data": "x" * (9 << 20)}])),
    "a_lone_half": with_cells(cell("markdown", "\ud800")),
    "odd_cells": with_cells(cell("what", ""), {}, {"cell_type": "code"}),
    **dict.fromkeys(["x?vier", "[x]*", "m*"], whole()),  # what nbgrader takes for patterns
    # To make HTML of these takes minutes to hours.
    "brackets": with_cells(cell("markdown", "[" * 60_000 + "*_" * 30_000 + ">" * 3000)),
    "pictures": with_cells(*[cell("markdown", "![a](" * 1900)] * 90),
    "headings": with_cells(*[cell("markdown", "\n#" * 4900)] * 90),
    "columns": with_cells(cell("markdown", f"{'a|' * 3000}\n{'-|' * 3000}\n" + "|||\n" * 300)),
}


def mutated(seed: int) -> str:
    """The solution's notebook with some pieces of the file taken out, doubled or written over."""
    chance, text = random.Random(seed), nbformat.writes(read("source", CH1))
    for _ in range(3):
        first = chance.randrange(len(text))
        last = first + chance.choice([1, 3, 40])
        text = text[:first] + chance.choice(["", "x", '"', "3", text[first:last] * 2]) + text[last:]
    return text


BROKEN = "new\nline"
# Python's own parser gives up on this, and what colours code takes hours.
CODE = with_cells(cell("code", "a." * 20_000), *[cell("code", "a." * 4900)] * 90)
MUTATED = {f"mutated_{seed}": mutated(seed) for seed in range(8)}
WRONG = {
    "no_cells": whole(cells=None),
    "number": "3",
    "text": "this is no notebook",
    "deep": "[" * 100_000,
    "nothing": "",
}
SCRIPT = "<script>alert(1)</script>"
ACTING = [
    cell("markdown", text)
    for text in (
        SCRIPT,
        "<img src=x onerror=alert(1)>",
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
        execution_count=SCRIPT,
        id=f'"{SCRIPT}',
        metadata={"tags": [f'"{SCRIPT}'], "nbgrader": {"grade_id": SCRIPT, "locked": True}},
        outputs=[
            {"output_type": "display_data", "metadata": {}, "data": {kind: SCRIPT}}
            for kind in ("text/html", "image/svg+xml", "application/javascript", "text/markdown")
        ],
    ),
]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Points by learner, and the course in which they were given; one run for the whole class."""
    scratch = Scratch(tmp_path_factory.mktemp("hostile"))
    scratch.release()
    for name in HONEST:
        scratch.hand_in(name, CH1, read("source", CH1))
    for name, content in (RIGHT | WRONG | MUTATED | {BROKEN: whole(), "code": CODE}).items():
        scratch.hand_in(name, CH1, content)
    acting = json.loads(with_cells(*ACTING))
    acting["metadata"]["title"] = SCRIPT
    scratch.hand_in("acting", CH1, json.dumps(acting))
    linked = scratch.hand_in("linked", CH1, "")
    linked.unlink()
    linked.symlink_to(scratch.root / "source" / CH1 / f"{CH1}.ipynb")
    scratch.grade(CH1)
    scratch.run("generate_feedback", CH1)
    return scratch, scratch.scores(CH1)


def page(scratch: Scratch, name: str) -> str:
    return (scratch.root / "feedback" / name / CH1 / f"{CH1}.html").read_text("utf-8")


def test_everybody_has_points(graded):
    _, scores = graded
    expected = dict.fromkeys([*HONEST, *RIGHT, "acting"], MOST[CH1])
    expected |= dict.fromkeys([*WRONG, "linked"], 0.0)
    others = {*MUTATED, "code"}
    assert {name: points for name, points in scores.items() if name not in others} == expected
    assert all(0 <= scores[name] <= MOST[CH1] for name in others)


def test_a_name_with_a_line_break_is_one_of_them(graded):
    """Not in nbgrader's own list, which writes names into lines unchanged."""
    scratch, _ = graded
    with Gradebook(f"sqlite:///{scratch.root}/gradebook.db") as gradebook:
        assert gradebook.find_submission(CH1, BROKEN).score == MOST[CH1]
    assert page(scratch, BROKEN)


def test_everybody_has_a_page(graded):
    scratch, scores = graded
    assert all(page(scratch, name) for name in scores)


def test_what_takes_long_to_render_is_shown_as_it_was_written(graded):
    scratch, _ = graded
    assert "<pre>[[[[[" in page(scratch, "brackets")
    assert "<pre>a.a.a." in page(scratch, "code") and "<h1" in page(scratch, "headings")
    assert page(scratch, "code").count("<") < 1.5 * MOST_TAGS, "to parse more takes a minute"


def test_files_that_are_no_notebooks_show_a_reason(graded):
    scratch, _ = graded
    for name in (*WRONG, "linked"):
        said = page(scratch, name)
        assert "raises an error" in said
        assert re.search("cannot be read|is a link|is damaged|is empty", said), name


def the_formgraders(scratch: Scratch, name: str) -> str:
    """The page that the formgrader shows of a submission, with the course's settings."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(scratch.root)).load_config()
    config.HTMLExporter.template_name = "formgrade"
    config.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    path = scratch.root / "autograded" / name / CH1 / f"{CH1}.ipynb"
    told = dict.fromkeys(("assignment_id", "notebook_id", "submission_id", "base_url"), CH1)
    told |= {"student": name, "first_name": name, "last_name": name, "notebook_path": CH1}
    resources = told | {"index": 0, "total": 1}
    return HTMLExporter(config=config).from_filename(str(path), resources=resources)[0]


@pytest.mark.parametrize("page", [page, the_formgraders])
def test_nothing_in_a_page_acts(graded, page):
    scratch, _ = graded
    ours, said = (page(scratch, name) for name in ("aaa", "acting"))
    for acting in ("<script", "<iframe", "<form", "<style", "<svg"):
        assert said.lower().count(acting) == ours.lower().count(acting), acting
    own, body = (text[text.index("<body") :] for text in (ours, said))
    acts = re.compile(r"<[^>]*\son\w+\s*=")
    assert set(acts.findall(body)) <= set(acts.findall(own))
    assert not re.search(
        r"""(href|src)=["']?\s*(javascript|data:text|data:image/svg)""", body, re.I
    )


@pytest.mark.parametrize("page", [page, the_formgraders])
def test_what_is_harmless_in_a_page_stays(graded, page):
    scratch, _ = graded
    said = page(scratch, "acting")
    assert "<strong>bold</strong>" in said and "<code>&lt;script&gt;</code>" in said
    assert "<h2" in said and "<table" in page(scratch, "aaa").lower()


def test_our_own_cards_stay_as_they_are(graded):
    scratch, _ = graded
    said = page(scratch, "aaa").replace(": ", ":")
    written = re.search(r'style="([^"]*)', graded_card(None, 0, 1, "")).group(1)
    card = written.replace(STATES["not_attempted"][1], STATES["passed"][1]).rstrip(";")
    count = len(load_course(ROOT / "graders").chapter(CH1).exercises)
    assert said.count(card) == count and said.count("✓ right") == count
