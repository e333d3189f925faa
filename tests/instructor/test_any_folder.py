"""A row for every exercise of every submission: for any folder that a file system can hold."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ..support import ROOT, amount, grade
from .runs import CH1, CH2, COURSE, run_here

COUNTS = {chapter.name: len(chapter.exercises) for chapter in COURSE.chapters}
SCRIPTS = [ROOT / folder / f"{CH1}.py" for folder in ("solutions", "exercises")]
NOTEBOOKS = [ROOT / folder / CH1 / f"{CH1}.ipynb" for folder in ("source", "release")]
SOLUTION = SCRIPTS[0].read_bytes()
HONEST = ("aaa", "mmm", "zzz")
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(os.name == "nt", reason="Windows refuses such names and links"),
]


@st.composite
def mutated(draw, file: Path) -> bytes:
    """Return a real file with some pieces of it removed, doubled or written over."""
    whole = file.read_bytes()
    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, len(whole)))
        last = min(len(whole), first + draw(st.sampled_from([1, 3, 40, 2000])))
        piece = draw(st.binary(max_size=4) | st.just(whole[first:last] * 2))
        whole = whole[:first] + piece + whole[last:]
    return whole


CONTENT = st.one_of(
    st.binary(max_size=200),
    *map(mutated, SCRIPTS + NOTEBOOKS),
    st.just(b"#" * (2 << 20)),
)
LETTERS = st.text("aé\u0301\u00a0\u200d\u00ad\u3000\ufe0f\u202e\\\n\t 🙂", min_size=1, max_size=8)
NAMES = (LETTERS | st.binary(min_size=1, max_size=40).map(os.fsdecode)).filter(
    lambda name: name[0] != "." and not {"/", "\0"} & set(name) and name not in HONEST
)
SEEN = ("right", "both", "outside", "second_chapter")
PLACES = st.sampled_from(
    "right right right both outside second_chapter other_name linked_file linked_chapter "
    "linked_learner a_folder a_pipe empty empty_chapter".split()
)


def submit(folder: Path, name: str, place: str, kind: str, content: bytes) -> None:
    """Write one learner's folder, with something in it or not."""
    learner, file = folder / name, f"{CH1}.{kind}"
    chapter, honest = learner / CH1, folder / "aaa" / CH1
    if place == "linked_learner":
        learner.symlink_to(folder / "aaa")
        return
    learner.mkdir()
    if place == "linked_chapter":
        chapter.symlink_to(honest)
    elif place == "outside":
        (learner / file).write_bytes(content)
    elif place == "second_chapter":
        (learner / CH2).mkdir()
        (learner / CH2 / f"{CH2}.{kind}").write_bytes(content)
    elif place != "empty":
        chapter.mkdir()
    if place in ("right", "both"):
        (chapter / file).write_bytes(content)
    if place == "both":
        (chapter / f"{CH1}.{'py' if kind == 'ipynb' else 'ipynb'}").write_bytes(SOLUTION)
    elif place == "other_name":
        (chapter / f"homework_{file}").write_bytes(content)
    elif place == "linked_file":
        (chapter / file).symlink_to(honest / f"{CH1}.py")
    elif place == "a_folder":
        (chapter / file).mkdir()
    elif place == "a_pipe":
        os.mkfifo(chapter / file)


LEARNERS = st.tuples(NAMES, PLACES, st.sampled_from(["py", "ipynb"]), CONTENT)
CLASSES = st.lists(LEARNERS, min_size=6, max_size=12, unique_by=lambda learner: learner[0])


@settings(
    max_examples=amount(1),
    phases=[Phase.generate],  # a smaller example of a class takes minutes to find
    suppress_health_check=list(HealthCheck),
)
@given(learners=CLASSES)
def test_any_folder(tmp_path_factory, learners):
    folder = tmp_path_factory.mktemp("any")
    submitted, out = folder / "in", folder / "out"
    for name in HONEST:
        (submitted / name / CH1).mkdir(parents=True)
        (submitted / name / CH1 / f"{CH1}.py").write_bytes(SOLUTION)
    for learner in learners:
        submit(submitted, *learner)
    graded = grade(submitted, out, "--isolation", "none")
    chapters = [CH1] + [CH2] * any(place == "second_chapter" for _, place, *_ in learners)
    students = {student for student, *_ in graded.rows}
    assert graded.status == 0 and len(students) == len(HONEST) + len(learners)
    assert len(graded.rows) == len(students) * sum(COUNTS[chapter] for chapter in chapters)
    assert all(row["message"] and row["message"].isprintable() for row in graded.rows.values())
    for (student, chapter, _), row in graded.rows.items():
        if student in HONEST and chapter == CH1:
            assert (row["status"], row["message"]) == ("passed", "Right.")
    seen = len(HONEST) + sum(place in SEEN for _, place, *_ in learners)
    with_points = {student for (student, *_), row in graded.rows.items() if row["points"]}
    assert len(with_points) <= seen
    done = run_here("report", out, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert (out / "report.html").stat().st_size < (100 << 10) + 10_000 * len(graded.rows)
    left = {"results.jsonl", "results.sqlite", "report.html"}
    assert {path.name for path in out.iterdir()} == left
