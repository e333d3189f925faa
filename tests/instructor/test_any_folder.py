"""Hand-ins in, hand-ins × exercises rows out: for any folder that a file system can hold.

ANY_FOLDERS=200 in the environment tries so many folders, and not a few.
"""

import json
import os
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tensorgrade.attempts.setup import Setup
from tensorgrade.course_sources import load_course
from tensorgrade.instructor import run as running
from tensorgrade.instructor.gradebook import write_gradebook
from tensorgrade.instructor.grader import grade_with
from tensorgrade.instructor.report.page import write_report
from tensorgrade.sources.submitted_files import escaped

from ..commands import ROOT
from .runs import Silent

CH1, CH2 = "ch1_simplified_attention", "ch2_self_attention"
COUNTS = {c.name: len(c.exercises) for c in load_course(ROOT / "graders").chapters}
SCRIPTS = [ROOT / folder / f"{CH1}.py" for folder in ("solutions", "exercises")]
NOTEBOOKS = [ROOT / folder / CH1 / f"{CH1}.ipynb" for folder in ("source", "release")]
SOLUTION = SCRIPTS[0].read_bytes()
HONEST = ("aaa", "mmm", "zzz")
FOLDERS = int(os.environ.get("ANY_FOLDERS", "6"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(max(300, 30 * FOLDERS)),
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]

JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
CELLS = st.lists(
    st.fixed_dictionaries(
        {"cell_type": st.just("code"), "source": st.text(max_size=60) | JUNK, "metadata": JUNK}
    )
    | JUNK,
    max_size=4,
)
NEARLY = (JUNK | st.fixed_dictionaries({"cells": CELLS})).map(lambda j: json.dumps(j).encode())


@st.composite
def mutated(draw, file: Path) -> bytes:
    """A real file with some pieces of it taken out, doubled or written over."""
    whole = file.read_bytes()
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(whole)))
        last = min(len(whole), first + draw(st.sampled_from([1, 3, 40, 2000])))
        piece = draw(st.binary(max_size=4) | st.just(whole[first:last] * 2))
        whole = whole[:first] + piece + whole[last:]
    return whole


CONTENT = st.one_of(
    st.binary(max_size=200),
    NEARLY,
    *map(mutated, SCRIPTS + NOTEBOOKS),
    st.just(b"#" * (2 << 20)),
)
LETTERS = st.text("aé\u0301\u00a0\u200d\u00ad\u3000\ufe0f\u202e\\\n\t 🙂", min_size=1, max_size=8)
NAMES = (LETTERS | st.binary(min_size=1, max_size=40).map(os.fsdecode)).filter(
    lambda name: name[0] != "." and not {"/", "\0"} & set(name) and name not in HONEST
)
PLACES = st.sampled_from(
    "right right right both other_name beside linked_file linked_chapter linked_learner "
    "a_folder a_pipe empty empty_chapter second_chapter".split()
)

SEEN = ("right", "both", "beside", "second_chapter")


def hand_in(folder: Path, name: str, place: str, kind: str, content: bytes) -> None:
    """One learner's folder, with something in it or not."""
    learner, file = folder / name, f"{CH1}.{kind}"
    if place == "linked_learner":
        learner.symlink_to(folder / "aaa")
        return
    learner.mkdir()
    if place == "linked_chapter":
        (learner / CH1).symlink_to(folder / "aaa" / CH1)
    elif place == "beside":
        (learner / file).write_bytes(content)
    elif place == "second_chapter":
        (learner / CH2).mkdir()
        (learner / CH2 / f"{CH2}.{kind}").write_bytes(content)
    elif place != "empty":
        (learner / CH1).mkdir()
        fill(learner / CH1, file, folder / "aaa" / CH1 / f"{CH1}.py", place, content)


def fill(chapter: Path, file: str, honest: Path, place: str, content: bytes) -> None:
    """One chapter's folder, with something in it or not."""
    if place in ("right", "both"):
        (chapter / file).write_bytes(content)
    if place == "both":
        other = "py" if file.endswith(".ipynb") else "ipynb"
        (chapter / f"{CH1}.{other}").write_bytes(SOLUTION)
    elif place == "other_name":
        (chapter / f"homework_{file}").write_bytes(content)
    elif place == "linked_file":
        (chapter / file).symlink_to(honest)
    elif place == "a_folder":
        (chapter / file).mkdir()
    elif place == "a_pipe":
        os.mkfifo(chapter / file)


class Here:
    """Grades in this very process: what is tried are folders, and not the workers."""

    lost, ahead = (), 1

    def __init__(self, grader):
        self.grader = grader

    def check_in(self) -> dict[str, int]:
        return {"none": 1}

    def submit(self, submitted_files) -> Future:
        done: Future = Future()
        done.set_result(grade_with(self.grader, submitted_files))
        return done


@pytest.fixture
def grade(grader, monkeypatch):
    """Grades a folder of hand-ins with short times; returns the rows."""
    course = grader.maker.course
    limits = replace(course.limits, load_seconds=3, case_seconds=2, handin_seconds=6)
    monkeypatch.setattr(grader.maker, "course", replace(course, limits=limits))
    monkeypatch.setattr(running, "workers_for", lambda *_: nullcontext(Here(grader)))
    setup = running.Run(Setup(ROOT / "graders", "none"))
    return lambda submitted, out: running.grade_class(submitted, out, setup, Silent())


LEARNERS = st.tuples(NAMES, PLACES, st.sampled_from(["py", "ipynb"]), CONTENT)
CLASSES = st.lists(LEARNERS, min_size=6, max_size=12, unique_by=lambda learner: learner[0])


@settings(
    max_examples=FOLDERS,
    derandomize="ANY_FOLDERS" not in os.environ,
    phases=[Phase.generate],  # a smaller example of a class takes minutes to find
    suppress_health_check=list(HealthCheck),
)
@given(learners=CLASSES)
def test_any_folder(grade, project, tmp_path_factory, learners):
    folder = tmp_path_factory.mktemp("any")
    submitted, out = folder / "in", folder / "out"
    for name in HONEST:
        (submitted / name / CH1).mkdir(parents=True)
        (submitted / name / CH1 / f"{CH1}.py").write_bytes(SOLUTION)
    for learner in learners:
        hand_in(submitted, *learner)
    rows = grade(submitted, out)
    chapters = [CH1] + [CH2] * any(place == "second_chapter" for _, place, *_ in learners)
    students = sorted([*HONEST, *(escaped(name) for name, *_ in learners)])
    assert sorted({row["student"] for row in rows}) == students
    assert len(rows) == len(students) * sum(COUNTS[chapter] for chapter in chapters)
    assert all(row["message"] and row["message"].isprintable() for row in rows)
    for name in HONEST:
        own = [r for r in rows if r["student"] == name and r["chapter"] == CH1]
        assert {(row["status"], row["message"]) for row in own} == {("passed", "Right.")}
    unseen = {escaped(name) for name, place, *_ in learners if place not in SEEN}
    assert not any(row["points"] for row in rows if row["student"] in unseen)
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == rows
    assert grade(submitted, out) == rows
    page = write_report(out, project.course)
    assert page.stat().st_size < (100 << 10) + 10_000 * len(rows)
    left = {"results.jsonl", "results.sqlite", "in-use", "report.html"}
    assert {path.name for path in out.iterdir()} == left


def test_the_gradebook_has_the_same_names(grade, project, tmp_path):
    from nbgrader.api import Gradebook

    names = ["aaa", "no\u00a0break", "lat\udce9", "new\nline", "'; drop table grade; --", "=1+1"]
    for name in names:
        (tmp_path / "in" / name / CH1).mkdir(parents=True)
        (tmp_path / "in" / name / CH1 / f"{CH1}.py").write_bytes(SOLUTION)
    (tmp_path / "in" / "nothing").mkdir()
    rows = grade(tmp_path / "in", tmp_path / "out")
    url = f"sqlite:///{tmp_path / 'gradebook.db'}"
    assert write_gradebook(url, rows, project.course) == len(names) + 1
    with Gradebook(url) as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions(CH1)}
    assert scores == dict.fromkeys(map(escaped, names), 39.0) | {"nothing": 0.0}


def test_a_notebook_of_fifty_megabytes_of_outputs_is_graded(grade, tmp_path):
    """A notebook's outputs are no part of the learner's work."""
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    output = nbformat.v4.new_output("stream", name="stdout", text="x" * (50 << 20))
    notebook.cells.append(nbformat.v4.new_code_cell("print('x')", outputs=[output]))
    (tmp_path / "in" / "ann" / CH1).mkdir(parents=True)
    (tmp_path / "in" / "ann" / CH1 / f"{CH1}.ipynb").write_text(nbformat.writes(notebook))
    rows = grade(tmp_path / "in", tmp_path / "out")
    passed = {row["exercise"] for row in rows if row["status"] == "passed"}
    assert len(passed) == COUNTS[CH1] == len(rows)
