"""axe-core finds nothing serious on the pages that learners and instructors open.

The page of the lessons is in tests/views/test_lessons_in_a_browser.py.
"""

import pytest
from playwright.sync_api import sync_playwright

from tensorgrade.course_sources import load_course
from tensorgrade.instructor.exporting import page_of, people_of
from tensorgrade.instructor.report.page import class_view, render
from tensorgrade.learner.notebook.card import Card

from .accessibility import QUIET, serious_violations
from .commands import ROOT
from .learner.test_notebook_cards import FLIPPED, checked
from .needs import browser, needs

COURSE = load_course(ROOT / "graders")
CHAPTER = COURSE.chapters[0]
FRAME = '<!doctype html><html lang="en"><title>A card</title><main>{}</main></html>'


def rows() -> list[dict]:
    """Rows of three learners, with a right, a wrong and a missing answer."""
    return [
        {
            "student": student,
            "chapter": CHAPTER.name,
            "exercise": exercise.name,
            "status": status,
            "points": exercise.points * (status == "passed"),
            "max_points": float(exercise.points),
            "mistakes": [],
            "message": "Something is wrong.",
            "isolation": "full",
        }
        for student, status in (("ada", "passed"), ("bao", "failed"), ("cy", "not_attempted"))
        for exercise in CHAPTER.exercises
    ]


def report() -> str:
    return render(
        class_view(COURSE, rows(), [{"chapter": CHAPTER.name, "students": ["ada", "bao"]}])
    )


def learner_page() -> str:
    return page_of(people_of(rows(), 0)["bao"], COURSE)


def card() -> str:
    return FRAME.format(Card(checked("causal_mask", FLIPPED))._repr_html_())


@needs("Chromium")
@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("write", [report, learner_page, card])
def test_a_page_has_no_serious_violation(tmp_path, write):
    path = tmp_path / "page.html"
    path.write_text(write(), encoding="utf-8")
    with sync_playwright() as engine:
        window = engine.chromium.launch(executable_path=browser(), args=QUIET)
        for scheme, width in (("light", 1280), ("dark", 390)):
            tab = window.new_page(color_scheme=scheme, viewport={"width": width, "height": 844})
            tab.goto(path.as_uri())
            assert serious_violations(tab) == [], (scheme, width)
        window.close()
