"""Teaching assistants work with their own sections, at the same time in one folder."""

import csv
import io

import pytest

from ..support import ROOT, rows_of
from . import downloads
from .downloads import collect
from .runs import CH1, begin, end_of

CLASS = {"ada": "Lab 1", "ben": "Lab 1", "chi": "Lab 2", "dan": "Lab 1 and Lab 2"}
SECOND = {"chi", "dan"}


@pytest.mark.slow
def test_a_section_has_its_own_rows_exports_and_report(term):
    roster = term.write("roster.csv", "student_id,Section", *(f"{n},{s}" for n, s in CLASS.items()))
    for name in CLASS:
        term.put(name, 0.5, text=name)
    told = ("--roster", roster, "--section")
    assert "no section Lab 9; it has Lab 1" in term.grade(*told, "Lab 9", refused=True).said
    assert "--section needs the class list" in term.grade("--section", "Lab 1", refused=True).said
    first = term.grade(*told, "lab 1")
    assert {student for student, _, _ in first.rows} == {"ada", "ben", "dan"}
    assert "chi" not in first.said
    assert {student for student, _, _ in term.grade(*told, "Lab 2").rows} == set(CLASS)
    grades = io.StringIO(term.exported("Lab 2/grades.csv", *told, "Lab 2"))
    assert {line["student"] for line in csv.DictReader(grades)} == SECOND
    page = term.page(*told, "Lab 2")
    assert "chi" in page and "ben" not in page


def test_a_section_is_collected_without_the_others(tmp_path):
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "ben", "chi")}
    gradebook = downloads.canvas(tmp_path / "c.zip", files, set())
    text = gradebook.read_text().replace("ben@uni.edu,Section 1", "ben@uni.edu,Other")
    gradebook.write_text(f'{text}"New, Eve",109,u109,eve@uni.edu,Other,\n')
    told = ("--roster", gradebook, "--section", "Other")
    found = collect("canvas", tmp_path / "c.zip", tmp_path / "in", *told)
    assert set(found.count) == {"ben@uni.edu"} and "submitted nothing: eve@uni.edu" in found.said
    assert "2 learners of other sections" in found.said


@pytest.mark.slow
def test_two_people_grade_their_sections_in_one_folder_at_once(tmp_path):
    solution = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")
    lines = ["student_id,Section", *(f"{name},{section}" for name, section in CLASS.items())]
    (tmp_path / "roster.csv").write_text("\n".join(lines))
    for name in CLASS:
        path = tmp_path / "in" / name / CH1 / f"{CH1}.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{solution}\n# {name}\n", encoding="utf-8")
    told = ("--jobs", "1", "--roster", tmp_path / "roster.csv", "--section")
    out, whole = tmp_path / "out", tmp_path / "whole"
    runs = [begin(tmp_path / "in", out, *told, name) for name in ("Lab 1", "Lab 2")]
    for run in runs:
        end_of(run)
    end_of(begin(tmp_path / "in", whole, "--jobs", "1"))
    assert {student for student, _, _ in rows_of(out)} == set(CLASS)
    assert (out / "results.jsonl").read_bytes() == (whole / "results.jsonl").read_bytes()
