"""Learners see deadlines in the course's zone: in the kit, in notebooks and on pages."""

import json
from dataclasses import replace
from io import StringIO

from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from rich.console import Console

from tensorgrade.author.building.notebooks import notebook_text
from tensorgrade.author.building.script import Script, read_script
from tensorgrade.course import Course, Settings
from tensorgrade.course_sources import resolve
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.lateness import Lateness
from tensorgrade.learner.commands.progress import show_progress
from tensorgrade.learner.kit import Kit
from tensorgrade.views.lessons import lessons_page

from ..commands import ROOT
from .runs import grade_by_content, put
from .test_exporting import CH1, COURSE

RULE = Lateness({CH1: "2025-01-15 22:59 UTC"}, zone="Europe/Berlin")
DUE = "2025-01-15 23:59 Europe/Berlin"


def dated() -> Course:
    """The course's first chapter, with a deadline, as learners get it."""
    settings = Settings("a", "A", 1, (CH1,), {}, lateness=RULE)
    return Course.from_json(resolve(settings, ROOT).public_json())


def test_the_public_course_has_deadlines_and_no_penalties():
    text = dated().public_json()
    assert dated().chapters[0].due == DUE and "share_a_day" not in text
    without = Settings("a", "A", 1, (CH1,), {})
    assert "due" not in json.loads(resolve(without, ROOT).public_json())["chapters"][0]


def test_the_first_cell_of_a_notebook_says_when_it_is_due():
    text = notebook_text(read_script(ROOT / "solutions" / f"{CH1}.py"), dated().chapters[0])
    first = json.loads(text)["cells"][0]["source"]
    assert f"**Due: {DUE}.**" in "".join(first) and "".join(first).startswith("# ")


def test_a_deadline_is_below_a_heading_without_text():
    short = Script(new_notebook(cells=[new_markdown_cell("# A"), new_code_cell("a = 1")]))
    (first, *_) = json.loads(notebook_text(short, dated().chapters[0]))["cells"]
    due = f"**Due: {DUE}.** If you have an extension, its date counts instead."
    assert "".join(first["source"]) == f"# A\n\n{due}"


def test_progress_and_the_lessons_show_deadlines(tmp_path):
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "course.json").write_text(dated().public_json())
    said = StringIO()
    show_progress(Kit(tmp_path), Console(file=said, width=200))
    assert "Due, unless you were given more time:" in said.getvalue()
    assert f"{DUE} (over)" in said.getvalue()
    assert f"due {DUE}" in lessons_page(dated(), ROOT, {})


def test_a_learners_page_shows_the_learners_own_deadline(monkeypatch, tmp_path):
    for name in ("ada", "ben"):
        put(tmp_path / "in", name, CH1, 1.0)
    (tmp_path / "out").mkdir()
    line = f"ada,{CH1},2025-01-20 12:00,,ill\n"
    (tmp_path / "out" / "extensions.csv").write_text(f"student,chapter,due,hours,reason\n{line}")
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", RULE)
    export(tmp_path / "out", replace(COURSE, lateness=RULE), "html", "plain", Roster())
    pages = tmp_path / "out" / "export" / "pages"
    assert "Due 2025-01-20 12:00 Europe/Berlin, your extension" in (pages / "ada.html").read_text()
    assert f"Due {DUE}</p>" in (pages / "ben.html").read_text()
