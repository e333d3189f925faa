"""Teaching assistants work with their own sections, at the same time in one folder."""

import csv
import io
import time
from pathlib import Path

import pytest

from tensorgrade.course import CourseError
from tensorgrade.instructor.collecting import plan
from tensorgrade.instructor.exporting import export
from tensorgrade.instructor.report.page import write_report
from tensorgrade.instructor.results_folder import Lock
from tensorgrade.instructor.roster import Roster, read_roster
from tensorgrade.instructor.sections import learners_in
from tensorgrade.instructor.store import Store

from ..commands import ROOT, Begun
from . import downloads
from .runs import begin, end_of, grade_by_content, graded_in, put
from .test_exporting import CH1, COURSE

NAMES = {"ada": "Lab 1", "ben": "Lab 1", "chi": "Lab 2", "dan": "Lab 1 and Lab 2"}
SOLUTION = (ROOT / "solutions" / f"{CH1}.py").read_text(encoding="utf-8")


@pytest.fixture
def roster(tmp_path):
    """The class list, with a section for each learner."""
    lines = ["student_id,Section", *(f"{name},{section}" for name, section in NAMES.items())]
    (tmp_path / "roster.csv").write_text("\n".join(lines))
    return read_roster(tmp_path / "roster.csv")


@pytest.fixture
def out(monkeypatch, tmp_path, roster):
    """Grade the first section only."""
    for name in NAMES:
        put(tmp_path / "in", name, CH1, 0.5, text=name)
    own = learners_in(roster, "lab 1")
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", section=own)
    assert {row["student"] for row in rows} == {"ada", "ben", "dan"} == own
    assert not any("chi" in note for note in notes)
    return tmp_path / "out"


@pytest.mark.slow
def test_a_second_section_joins_the_first_in_the_same_folder(monkeypatch, out, roster):
    own = learners_in(roster, "Lab 2")
    rows, notes = grade_by_content(monkeypatch, out.parent / "in", out, section=own)
    assert {row["student"] for row in rows} == set(NAMES)
    assert not any("rows from before" in note for note in notes)


@pytest.mark.slow
def test_exports_of_a_section_have_a_folder_and_learners_of_their_own(monkeypatch, out, roster):
    grade_by_content(monkeypatch, out.parent / "in", out)
    (path,), _ = export(out, COURSE, "csv", "plain", roster, section="Lab 2")
    lines = csv.DictReader(io.StringIO(path.read_text()))
    assert {line["student"] for line in lines} == {"chi", "dan"}
    assert path == out / "export" / "Lab 2" / "grades.csv"
    pages, _ = export(out, COURSE, "html", "plain", roster, section="Lab 2")
    assert sorted(page.stem for page in pages) == ["chi", "dan"]


@pytest.mark.slow
def test_the_report_of_a_section_names_its_learners_only(monkeypatch, out, roster):
    grade_by_content(monkeypatch, out.parent / "in", out)
    page = write_report(out, COURSE, section="Lab 2", learners=learners_in(roster, "Lab 2"))
    assert page.name == "report-Lab 2.html"
    assert "chi" in page.read_text() and "ben" not in page.read_text()


@pytest.mark.slow
def test_canvas_gets_the_rows_of_the_section_alone(tmp_path, monkeypatch):
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "ben")}
    gradebook = downloads.canvas(tmp_path / "c.zip", files, set())
    gradebook.write_text(
        gradebook.read_text().replace("ben@uni.edu,Section 1", "ben@uni.edu,Other")
    )
    listed = read_roster(gradebook, "canvas")
    for name in ("ada@uni.edu", "ben@uni.edu"):
        put(tmp_path / "in", name, CH1, 0.5)
    grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    (path,), _ = export(tmp_path / "out", COURSE, "csv", "canvas", listed, section="Other")
    assert "ben@uni.edu" in path.read_text() and "ada@uni.edu" not in path.read_text()


def test_a_section_is_collected_without_the_others(tmp_path):
    files = {name: {f"{CH1}.py": b"0.5 "} for name in ("ada", "ben", "chi")}
    gradebook = downloads.canvas(tmp_path / "c.zip", files, set())
    text = gradebook.read_text().replace("ben@uni.edu,Section 1", "ben@uni.edu,Other")
    gradebook.write_text(f'{text}"New, Eve",109,u109,eve@uni.edu,Other,\n')
    listed = read_roster(gradebook, "canvas")
    found = plan("canvas", tmp_path / "c.zip", COURSE, listed, section="Other")
    assert [place.folder for place in found.places] == ["ben@uni.edu"]
    assert "submitted nothing: eve@uni.edu" in found.notes
    assert "left out: 2 learners of other sections" in found.left_out


def test_several_sections_in_a_cell_are_sections_together_and_alone(roster):
    assert learners_in(roster, "Lab 1 and Lab 2") == {"dan"}
    assert learners_in(roster, "lab 1") == {"ada", "ben", "dan"}
    assert learners_in(roster, "lab 2") == {"chi", "dan"}


def test_a_section_that_is_not_there_is_a_sentence(roster):
    with pytest.raises(CourseError, match="no section Lab 9; it has Lab 1, Lab 1 and Lab 2, Lab 2"):
        learners_in(roster, "Lab 9")
    with pytest.raises(CourseError, match="--section needs the class list"):
        learners_in(Roster(), "Lab 1")


def test_a_lock_is_an_error_for_those_who_do_not_wait(tmp_path):
    first = Lock(tmp_path / "in-use")
    with pytest.raises(CourseError, match="another run is writing into"):
        Lock(tmp_path / "in-use")
    waited = []
    second = Lock(tmp_path / "in-use", lambda: (waited.append(1), first.file.close()))
    assert waited and second.file


@pytest.fixture
def files(tmp_path, roster):
    """Return a folder of real submissions, one for each learner."""
    for name in NAMES:
        path = tmp_path / "in" / name / CH1 / f"{CH1}.py"
        path.parent.mkdir(parents=True)
        path.write_text(f"{SOLUTION}\n# {name}\n", encoding="utf-8")
    return tmp_path / "in"


def section(files: Path, out: Path, name: str) -> Begun:
    """Begin to grade a section with one worker."""
    told = ("--roster", files.parent / "roster.csv", "--jobs", "1", "--section", name)
    return begin(files, out, *told)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_waits_for_the_end_of_another_one(files, tmp_path):
    (tmp_path / "out").mkdir()
    other = Lock(tmp_path / "out" / "in-use")
    run = section(files, tmp_path / "out", "Lab 2")
    try:
        while not (run.written.exists() and "waiting for it to finish" in run.written.read_text()):
            assert run.poll() is None
            time.sleep(0.05)
        assert not graded_in(tmp_path / "out")
    finally:
        other.file.close()
    end_of(run)
    assert {student for student, _ in graded_in(tmp_path / "out")} == {"chi", "dan"}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_people_grade_their_sections_in_one_folder_at_once(files, tmp_path):
    runs = [section(files, tmp_path / "out", name) for name in ("Lab 1", "Lab 2")]
    for run in runs:
        end_of(run)
    assert {student for student, _ in Store(tmp_path / "out").results()} == set(NAMES)
    end_of(begin(files, tmp_path / "whole", "--jobs", "1"))
    both, whole = (tmp_path / name / "results.jsonl" for name in ("out", "whole"))
    assert both.read_bytes() == whole.read_bytes()
