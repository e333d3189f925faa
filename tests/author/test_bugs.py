"""Find-the-bug exercises: what an author writes, what learners get, and how repairs are graded."""

import json

import nbformat
import pytest

from ..hidden import opened
from ..kits import unpacked
from ..support import Judge, release
from .small_course import ANSWER, CHAPTER, GRADER, NAME, NEW, OLD, build, edit, with_a_bug

pytestmark = pytest.mark.slow
RIGHT = "\n".join(line for line in ANSWER.splitlines() if "###" not in line)
GIVEN = RIGHT.replace(OLD, NEW)
MORE_CASES = """
    case("negative/1", call(x=normal(4), factor=-2.0)),
    case("zero/1", call(x=0 * normal(4), factor=0.0)),
"""
MORE_CHECKS = """check(1, "Negative ones, too.", it.agrees("negative")),
    check(1, "Zeros stay.", it.agrees("zero")),"""


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = with_a_bug(tmp_path_factory.mktemp("bugs") / "small")
    edit(root, GRADER, "for shape in shapes]", f"for shape in shapes] + [{MORE_CASES}]")
    edit(root, GRADER, "check(4, ", "check(1, ")
    edit(root, GRADER, '    check(1, "The argument', f'    {MORE_CHECKS} check(1, "The argument')
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


# By answer: what it does instead of the mistake, and its points of 4. The given code fails two
# checks, worth 1 each, and passes two others.
REPAIRS = {
    "another mistake": ("torch.sub(entries, factors)", 0),
    "half of it": ("torch.mul(entries, factors) if factor > 0 else entries + factors", 1.5),
    "one thing broken": ("x.mul_(factor).reshape(-1)", 1.5),
    "more broken than fixed": ("x.add_(factor).reshape(-1)", 0),
}


def test_a_repair_in_part_earns_a_part(course):
    """verdicts/test_bugs.py has the rest."""
    judge = Judge(course)
    for does, points in REPAIRS.values():
        text = RIGHT.replace(f"{OLD}entries, factors)", does)
        found = judge(CHAPTER, NAME, f"import torch\n{text}\n", explain=False)
        assert (found.points, found.max_points) == (points, 4), does
    judge.close()
