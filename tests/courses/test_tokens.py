"""The second course stands alone: it is proved, graded, handed out, and runs in nbgrader."""

import shutil
from pathlib import Path

import pytest

from tensorgrade.author.mistakes import every_mistake, known
from tensorgrade.recognition.edits import make

from ..support import ROOT, Judge, Project, cli, grade, points_in_nbgrader, submit

COURSE = ROOT / "courses" / "tokens"
CH1, CH2 = "ch1_byte_pairs", "ch2_batches"
LEFT = shutil.ignore_patterns("__pycache__", ".*")
MADE = {  # by learner: the mistakes in an exercise
    "right": {},
    "one": {"merge_pair": "steps_over_one", "shifted_windows": "targets_not_moved"},
    "more": {"count_pairs": "pairs_side_by_side", "decode": "byte_by_byte"},
    "class": {"Vocabulary": "words_learned_while_encoding", "encode": "merges_by_pair"},
}
LOWEST_FIRST = """
def encode(text, merges):
    ids = list(text.encode("utf-8"))
    while len(ids) > 1:
        pair = min(count_pairs(ids), key=lambda one: merges.get(one, float("inf")))
        if pair not in merges:
            break
        ids = merge_pair(ids, pair, merges[pair])
    return ids
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """The course in a folder of its own, with nothing of this repository beside it."""
    root = tmp_path_factory.mktemp("alone") / "tokens"
    shutil.copytree(COURSE, root, ignore=LEFT)
    return root


@pytest.mark.slow
def test_merging_the_pair_with_the_lowest_id_first_is_right():
    """Training numbers its merges, so their ids have the order of learning too."""
    judge = Judge(COURSE)
    text = judge.project.solution(CH1).read_text(encoding="utf-8") + LOWEST_FIRST
    assert judge(CH1, "encode", text).points == 9
    judge.close()


@pytest.mark.proof
def test_it_is_proved(course: Path):
    done = cli("prove", cwd=course, timeout=1800)
    assert done.returncode == 0 and "Every mistake is noticed" in done.stdout, done


@pytest.mark.slow
def test_a_class_gets_its_verdicts(course: Path, tmp_path: Path):
    project = Project(course)
    messages = {one.name: one.message for one in every_mistake(project)}
    for student, mistakes in MADE.items():
        for chapter in project.course.chapters:
            text = project.solution(chapter.name).read_text(encoding="utf-8")
            for exercise in (one.name for one in chapter.exercises):
                edits = {one.name: one.edits for one in known(project, exercise)}
                assert len(edits) >= 5
                if exercise in mistakes:
                    text = make(text, exercise, edits[mistakes[exercise]])
            submit(tmp_path / "submitted", student, chapter.name, text)
    options = ("--isolation", "none", "--jobs", "1")
    graded = grade(tmp_path / "submitted", tmp_path / "out", *options, cwd=course)
    assert len(graded.rows) == 4 * 7, graded.said
    for (student, _, exercise), row in graded.rows.items():
        expected = MADE[student].get(exercise)
        if student in ("one", "more") and exercise in ("train_bpe", "encode"):
            continue  # these call a function that is wrong
        assert row["mistakes"] == ([expected] if expected else []), row
        assert (row["status"] == "passed") == (not expected), row
        assert not expected or row["message"] == messages[expected]


@pytest.mark.proof
def test_nbgrader_makes_and_grades_it(course: Path):
    assert points_in_nbgrader(course, CH2) == {"ada": 22, "bo": 0}
