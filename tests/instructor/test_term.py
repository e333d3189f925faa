"""The grade for the term: drop the lowest, weights, a pass mark, and the same in every export."""

import csv
import io
from dataclasses import replace

import pytest
from openpyxl import load_workbook

from tensorgrade.course import CourseError, Scheme, Settings
from tensorgrade.course_sources import resolve
from tensorgrade.instructor.dependencies import settings_in
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.roster import Roster
from tensorgrade.instructor.term import terms_of

from ..commands import ROOT
from .runs import put_rows
from .test_exporting import CH1, CH2, COURSE

CH3 = COURSE.chapters[2].name


def rows(shares: dict[str, tuple[float, ...]]) -> list[dict]:
    """A row for each chapter of each learner, out of 10 points; None: excused."""
    return [
        {
            "student": student,
            "chapter": chapter,
            "exercise": COURSE.chapter(chapter).exercises[0].name,
            "points": 10 * (share or 0.0),
            "max_points": 0.0 if share is None else 10.0,
            "status": "passed",
            "mistakes": [],
            "message": "Right.",
            "isolation": "full",
        }
        for student, own in shares.items()
        for chapter, share in zip((CH1, CH2, CH3), own, strict=False)
    ]


def totals(shares, scheme) -> dict[str, tuple]:
    found = terms_of(rows(shares), replace(COURSE, scheme=scheme))
    return {name: (term.total, term.passed, term.dropped) for name, term in found.items()}


EVEN = dict.fromkeys((CH1, CH2, CH3), 1.0)


def test_the_worked_example():
    """The one in the documentation: 60, 90 and 40 percent, the lowest dropped, weights 1, 2, 1."""
    scheme = Scheme(drop_lowest=1, weights=EVEN | {CH2: 2.0}, pass_mark=50)
    assert totals({"ada": (0.6, 0.9, 0.4)}, scheme) == {"ada": (80.0, True, (CH3,))}


def test_excused_chapters_count_for_nothing_and_missing_ones_are_zero():
    shares = {"ada": (0.8, None, 0.6), "ben": (0.8,), "chi": (None, None, None)}
    got = totals(shares, Scheme(weights=EVEN, pass_mark=70))
    assert got == {"ada": (70.0, True, ()), "ben": (26.7, False, ()), "chi": (None, None, ())}


def test_without_weights_chapters_weigh_what_their_points_are():
    first, second = COURSE.chapters[0].points, COURSE.chapters[1].points
    got = totals({"ada": (1.0, 0.0)}, Scheme(decimals=3))
    assert got["ada"][0] == pytest.approx(100 * first / (first + second), abs=6e-4)
    assert got["ada"][1] is None


def test_the_same_numbers_are_in_csv_workbook_and_pages(tmp_path):
    course = replace(COURSE, scheme=Scheme(drop_lowest=1, weights=EVEN, pass_mark=50))
    put_rows(tmp_path, rows({"ada": (0.6, 0.9, 0.4)}))
    (_, path), _ = export(tmp_path, course, "csv", "plain", Roster())
    (line,) = csv.DictReader(io.StringIO(path.read_text("utf-8")))
    assert (line["total"], line["passed"], line["dropped"]) == ("75.0", "yes", CH3)
    (book,), _ = export(tmp_path, course, "xlsx", "plain", Roster())
    assert load_workbook(book)["term"]["F2"].value == 75.0
    (page,), _ = export(tmp_path, course, "html", "plain", Roster())
    assert f"The term so far: 75 of 100, without {CH3}: passed." in page.read_text("utf-8")
    (only,), _ = export(tmp_path, course, "csv", "plain", Roster(), CH1)
    assert only.name == "grades.csv", "one chapter has no term"


@pytest.mark.parametrize(
    "told, why",
    [
        ({"weights": {"ch9": 1}}, "no chapter is named ch9"),
        ({"drop_lowest": 1}, "drop_lowest is 1; one of the 1 chapters must count"),
        ({"pass_mark": 120}, "pass_mark is 120; give percent, 0 to 100"),
        ({"decimals": -1}, "decimals is -1; give 0 to 6"),
    ],
)
def test_a_scheme_that_cannot_be_is_a_sentence(told, why):
    settings = Settings("a", "A", 1, (CH1,), {}, scheme=Scheme(**told))
    with pytest.raises(CourseError, match=why):
        resolve(settings, ROOT)


def test_a_scheme_that_changes_grades_no_learner_again(tmp_path):
    config = tmp_path / "course_config.py"
    texts = []
    for scheme in ("", ", scheme=Scheme(drop_lowest=1)"):
        config.write_text(f"COURSE = Settings(seed=1{scheme})\n")
        texts.append(settings_in(config, set()))
    assert texts[0] == texts[1]


def test_a_bonus_chapter_adds_to_the_grade_and_is_never_dropped():
    """Chapter 3 is a bonus: (60 + 90 + 40) / 2, and 45 without any points in it."""
    scheme = Scheme(weights=EVEN, bonus=(CH3,))
    shares = {"ada": (0.6, 0.9, 0.4), "ben": (1.0, 0.9, 1.0), "chi": (0.9, 0.0, 0.0)}
    assert {n: t[0] for n, t in totals(shares, scheme).items()} == {
        "ada": 95.0,
        "ben": 145.0,
        "chi": 45.0,
    }
    lowest = replace(scheme, drop_lowest=1)
    assert totals({"chi": (0.9, 0.5, 0.1)}, lowest) == {"chi": (100.0, None, (CH2,))}
    assert totals(shares, replace(scheme, most=100.0))["ben"][0] == 100.0
    assert totals({"ada": (None, None, 0.4)}, scheme)["ada"][0] is None


def test_bonus_chapters_that_cannot_be_are_a_sentence():
    scheme = Scheme(drop_lowest=1, bonus=(CH2, "ch9"), most=-1)
    found = scheme.complaints([CH1, CH2])
    assert "no chapter is named ch9" in found and "most is -1; give percent above 0" in found
    assert "drop_lowest is 1; one of the 0 chapters without bonus must count" in found
