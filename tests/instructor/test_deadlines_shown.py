"""Learners see deadlines in notebooks and lessons; `test_counting.py` has the other places."""

import json

from tensorgrade.author.handouts import notebook_text
from tensorgrade.cells import Cell, read_lesson
from tensorgrade.course import Course, Settings
from tensorgrade.lateness import Lateness
from tensorgrade.project import resolve
from tensorgrade.views.lessons import lessons_page

from ..support import ROOT
from .runs import CH1

RULE = Lateness({CH1: "2025-01-15 22:59 UTC"}, zone="Europe/Berlin")
DUE = "2025-01-15 23:59 Europe/Berlin"


def test_notebooks_and_lessons_show_the_deadline_below_the_title():
    settings = Settings("a", "A", 1, (CH1,), {}, lateness=RULE)
    course = Course.from_json(resolve(settings, ROOT).public_json())
    folder = ROOT / "solutions"
    for cells in (read_lesson(folder / f"{CH1}.py"), [Cell("# A", is_text=True), Cell("a = 1")]):
        made = notebook_text(cells, course.chapters[0], folder / "pictures")
        (first, *_) = json.loads(made)["cells"]
        text = "".join(first["source"])
        assert text.startswith("# ") and f"**Due: {DUE}.**" in text
    assert f"due {DUE}" in lessons_page(course, ROOT, {})
