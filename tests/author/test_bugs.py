"""Find-the-bug exercises: what an author writes, what learners get, and how repairs are graded."""

import json
from types import SimpleNamespace

import nbformat
import pytest

from tensorgrade.attempts.results import CheckResult
from tensorgrade.attempts.scoring import repaired
from tensorgrade.author.proving import unnoticed_bugs
from tensorgrade.project import Project

from ..hidden import opened
from ..kits import unpacked
from ..support import release
from .bug_course import ANSWER, MARK, NAME, NEW, OLD, with_a_bug
from .small_course import CHAPTER, LESSON, build, edit

pytestmark = pytest.mark.slow
RIGHT = "\n".join(line for line in ANSWER.splitlines() if "###" not in line)
GIVEN = RIGHT.replace(OLD, NEW)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = with_a_bug(tmp_path_factory.mktemp("bugs") / "small")
    build(root)
    release(root)
    return root


def cell_in(folder):
    """Return the cell to write in of the chapter's notebook in a folder."""
    text = (folder / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8")
    return next(cell for cell in nbformat.reads(text, as_version=4).cells if cell.id == NAME)


def test_learners_get_the_code_with_the_mistake_wherever_they_work(course):
    assert GIVEN in (course / "exercises" / f"{CHAPTER}.py").read_text(encoding="utf-8")
    released, source = cell_in(course / "release"), cell_in(course / "source")
    assert released.source == GIVEN and source.source == ANSWER
    assert not released.metadata.nbgrader.locked and not released.metadata.nbgrader.grade
    assert released.metadata.nbgrader.solution, "nbgrader knows what learners write"
    told = json.loads((course / "exercises" / "course.json").read_text(encoding="utf-8"))
    (bug,) = [
        one for chapter in told["chapters"] for one in chapter["exercises"] if one["name"] == NAME
    ]
    assert bug["points"] == 4
    assert bug["checks"][0]["calls"] == [["agrees", ["values"], {}]]


def test_nothing_in_the_kit_tells_which_mistake_it_is(course, tmp_path):
    folder = unpacked(tmp_path, course)
    texts = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*.*")
        if path.is_file()
    }
    texts = opened(texts)
    naming = {path for path, text in texts.items() if b"scaled_factor_added" in text}
    place = f"exercises/references/{CHAPTER}"  # the other exercise has all of them
    prints = f"{place}/scaled.safetensors!part|fingerprints"
    assert naming == {prints, f"{place}/mistakes.json"}
    of_the_course = [path for path in texts if ".whl!" not in path]
    assert not [path for path in of_the_course if b"### BUG" in texts[path]]
    (right,) = [line.strip().encode() for line in RIGHT.splitlines() if OLD in line]
    assert not [path for path, text in texts.items() if right in text]


def test_a_proof_finds_what_is_no_bug(tmp_path):
    root = with_a_bug(tmp_path / "small")
    build(root)
    assert unnoticed_bugs(Project(root)) == []
    edit(root, LESSON, MARK, MARK.replace(NEW, OLD).replace("entries, factors", "factors, entries"))
    build(root)
    said = unnoticed_bugs(Project(root))
    assert said == [
        f"{side}: no check notices the bug of {NAME}" for side in ("graders", "exercises")
    ]


@pytest.mark.parametrize(
    "checks, points",
    [
        ([(1, False, False), (3, True, True)], 0),  # another mistake for the one that was there
        ([(1, True, False), (1, False, False), (2, True, True)], 1.5),  # half of it fixed
        ([(1, True, False), (1, True, False), (1, False, True), (1, True, True)], 1.5),
        ([(1, True, False), (3, False, True)], 0),  # more broken than fixed: never below 0
    ],
)
def test_a_repair_in_part_earns_a_part(checks, points):
    """checks: points, passed, and passed by the given code. verdicts/test_bugs.py has the rest."""
    results = [CheckResult(worth, passed, given=given) for worth, passed, given in checks]
    earned = sum(check.earned for check in repaired(SimpleNamespace(is_as_given=False), results))
    assert earned == pytest.approx(points)
