"""Writes `report.html`: one page that needs nothing but itself."""

import os
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ..course import Course, CourseError
from ..grading.ledger import read_lines
from .class_view import class_view

# By status: a mark that needs no colour, and words.
STATES = {
    "passed": ("✓", "right"),
    "partial": ("◐", "partly right"),
    "failed": ("✗", "wrong"),
    "not_attempted": ("○", "not begun"),
    "error": ("⚠", "ends in an error"),
    "timeout": ("∞", "does not come to an end"),
    "killed": ("⊘", "was ended"),
}
PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
    trim_blocks=True, lstrip_blocks=True,
)
PAGES.filters["points"] = "{:g}".format
PAGES.filters["percent"] = "{:.0%}".format


def write_report(out: Path, course: Course, hide_names: bool = False) -> Path:
    """Write the page of a folder of results; returns its path. Raises CourseError."""
    if not (out / "results.jsonl").exists():
        raise CourseError(f"{out} holds no results.jsonl; `tensorgrade grade` writes it")
    rows = [row for row in read_lines(out / "results.jsonl") if known(row, course)]
    page = render(class_view(course, rows, read_lines(out / "identical.jsonl"), hide_names), hide_names)
    path, temporary = out / "report.html", out / "report.tmp"
    # A name that is no UTF-8 on disk is shown with a mark in its place.
    temporary.write_bytes(page.encode("utf-8", "replace"))
    os.replace(temporary, path)
    return path


def known(row: dict, course: Course) -> bool:
    """Whether the course (still) has the chapter that a row is about."""
    return row["chapter"] in {chapter.name for chapter in course.chapters}


def render(view: dict, hide_names: bool = False) -> str:
    """The page's HTML. Everything that comes from learners is escaped."""
    return PAGES.get_template("page.html").render(view, states=STATES, hide_names=hide_names)
