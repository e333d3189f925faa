"""A run knows the rows of earlier runs, and reports those that stay."""

import zipfile
from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from tensorgrade.attempts.setup import Setup
from tensorgrade.attempts.verdict import Status
from tensorgrade.course import CourseError
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.class_terminal import graders_failed
from tensorgrade.instructor.grader import set_aside
from tensorgrade.instructor.store import Store
from tensorgrade.messages.not_graded import GradingFailed

from ..commands import ROOT, run
from .runs import ByContent, grade_by_content, put

CH1 = load_course(ROOT / "graders").chapters[0].name


@pytest.mark.slow
def test_a_file_on_which_the_graders_failed_is_graded_again(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0)
    submit = ByContent.submit

    def fail(self, submitted_files):
        done: Future = Future()
        done.set_result(set_aside(submitted_files, self.course, Status.ERROR, GradingFailed()))
        return done

    monkeypatch.setattr(ByContent, "submit", fail)
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert all(map(graders_failed, rows)) and {row["status"] for row in rows} == {"error"}
    monkeypatch.setattr(ByContent, "submit", submit)
    rows, _ = grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert not any(map(graders_failed, rows)) and {row["status"] for row in rows} == {"passed"}
    (*_, last) = Store(tmp_path / "out").history()
    assert {move["why"] for move in last["moved"]} == {"graded again"}


def test_results_do_not_go_into_the_folder_of_submissions(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0)
    with pytest.raises(CourseError, match="in holds the submissions; choose another folder"):
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "x" / ".." / "in")


def test_rows_without_isolation_stay_with_a_note_in_a_run_with_more(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0)
    out = tmp_path / "out"
    _, notes = grade_by_content(monkeypatch, tmp_path / "in", out)
    assert not any("--isolation none" in note for note in notes)
    level = SimpleNamespace(name="landlock", layers=())
    monkeypatch.setattr(running, "choose_level", lambda *_: level)
    monkeypatch.setattr(running, "must_be_closed", lambda *_: None)
    rows, notes = grade_by_content(monkeypatch, tmp_path / "in", out)
    (note,) = [note for note in notes if "--isolation none" in note]
    assert note.startswith("results of 1 submission") and "kept: ada; `--forget NAME`" in note
    _, notes = grade_by_content(monkeypatch, tmp_path / "in", out, forget=("ada",))
    assert rows and not any("--isolation none" in note for note in notes)


def test_options_that_cannot_be_are_one_sentence(monkeypatch, tmp_path):
    put(tmp_path / "in", "ada", CH1, 1.0)
    with pytest.raises(CourseError, match="--jobs must be a number of processes or 0, not -1"):
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out", jobs=-1)
    options = ("--out", tmp_path / "out", "--device", "gpu")
    done = run("tensorgrade.cli", "grade", tmp_path / "in", *options)
    assert done.returncode == 2 and not (tmp_path / "out").exists()
    assert done.stderr == "tensorgrade: --device must be one of cpu, cuda, auto, not gpu\n"


@pytest.mark.parametrize(
    "isolation, device, gpu, said",
    [
        ("full", "cuda", True, "a sandbox hides the GPU"),
        ("full", "auto", True, "a sandbox hides the GPU"),
        ("auto", "cuda", False, "torch finds no CUDA device here"),
    ],
)
def test_a_gpu_that_is_missing_or_hidden_is_one_sentence(
    monkeypatch, tmp_path, isolation, device, gpu, said
):
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    setup = Setup(ROOT / "graders", isolation, device)
    with pytest.raises(CourseError, match=said):
        running.prepare_to_grade(tmp_path, tmp_path / "out", running.Run(setup))


def test_auto_takes_the_isolation_of_the_device_that_it_finds(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    level = SimpleNamespace(name="full", layers=())
    monkeypatch.setattr(running, "choose_level", lambda *asked: (asked[-1] == "cpu") and level)
    run_it = running.Run(Setup(ROOT / "graders", "auto", "auto"))
    assert running.prepare_to_grade(tmp_path, tmp_path / "out", run_it)[1]


def test_on_a_gpu_learner_code_is_not_isolated(monkeypatch, tmp_path):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    run_it = running.Run(Setup(ROOT / "graders", "auto", "cuda"))
    assert not running.prepare_to_grade(tmp_path, tmp_path / "out", run_it)[1]


@pytest.mark.parametrize("part", [{"chapters": ("ch1_simplified_attention",)}, {"section": {"bo"}}])
def test_forgetting_a_learner_is_not_limited_to_a_part_of_the_class(tmp_path, part):
    asked = running.Run(Setup(ROOT / "graders", "none"), forget=("ada",), **part)
    with pytest.raises(CourseError, match="in all chapters; run it without --chapter"):
        running.prepare_to_grade(tmp_path, tmp_path / "out", asked)


def test_a_zip_or_a_file_in_place_of_the_folder_is_named_as_such(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("a", "")
    (tmp_path / "a.py").write_text("")
    assert "m.zip is a zip; sort it into" in running.why_no_folder(tmp_path / "m.zip")
    assert running.why_no_folder(tmp_path / "a.py").endswith("a.py is not a folder")
    assert running.why_no_folder(tmp_path / "b").startswith("there is no folder")
