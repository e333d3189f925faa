"""Notebooks of every chapter meet nbgrader's needs, and releases contain no secrets."""

import ast
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

from tensorgrade.author.building.derive import (
    handout_files,
    read_zip,
    script_for_learners,
    with_hints,
    zipped,
)
from tensorgrade.author.building.notebooks import notebook_text, release_text
from tensorgrade.author.building.script import read_script
from tensorgrade.project import Project

ROOT = Path(__file__).parents[2]
PROJECT = Project(ROOT)
CHAPTERS = PROJECT.course.chapters
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.name)


def stored(folder: str, chapter):
    """The committed notebook of a chapter in `source` or `release`."""
    return nbformat.read(ROOT / folder / chapter.name / f"{chapter.name}.ipynb", as_version=4)


def marks(cell) -> dict:
    """A cell's nbgrader metadata; empty where it has none."""
    return dict(cell.metadata.get("nbgrader", {}))


@each_chapter
@pytest.mark.parametrize("folder", ["source", "release"])
def test_notebook_is_valid_and_its_ids_are_unique_names(folder, chapter):
    nb = stored(folder, chapter)
    nbformat.validate(nb)
    ids = [cell.id for cell in nb.cells]
    grade_ids = [marks(cell)["grade_id"] for cell in nb.cells if marks(cell)]
    assert len(set(ids)) == len(ids) and len(set(grade_ids)) == len(grade_ids)
    assert set(grade_ids) <= set(ids)
    assert not any(re.fullmatch(r"[0-9a-f]{8}(-.*)?", name) for name in ids), "names, not numbers"
    assert nb.metadata.kernelspec.name == "python3"


@each_chapter
@pytest.mark.parametrize("folder", ["source", "release"])
def test_each_exercise_is_followed_by_its_check_and_its_graded_cell(folder, chapter):
    nb = stored(folder, chapter)
    ids = [cell.id for cell in nb.cells]
    assert [i for i in ids if i in {e.name for e in chapter.exercises}] == [
        e.name for e in chapter.exercises
    ]
    for exercise in chapter.exercises:
        at = ids.index(exercise.name)
        solution, check, graded = nb.cells[at : at + 3]
        assert marks(solution)["solution"] and not marks(solution)["locked"]
        assert check.source == f'check("{exercise.name}")' and marks(check)["locked"]
        assert marks(graded)["grade"] and marks(graded)["locked"] and not marks(graded)["solution"]
        assert marks(graded)["points"] == exercise.points
        assert graded.source.endswith(f'points("{exercise.name}")')


@each_chapter
def test_lessons_and_imports_are_locked_and_demonstrations_are_free(chapter):
    for cell in stored("release", chapter).cells:
        free = cell.id.startswith(("try-", "pictures"))
        assert bool(marks(cell)) != free
        if cell.cell_type == "markdown" or cell.id in ("imports", "tools"):
            assert marks(cell)["locked"] and cell.metadata.editable is False


@each_chapter
def test_demonstrations_are_code_again(chapter):
    script = read_script(PROJECT.solution(chapter.name))
    demonstrations = [cell for cell in stored("source", chapter).cells if not marks(cell)]
    assert len(demonstrations) == sum("active" in cell.metadata for cell in script.notebook.cells)
    for cell in demonstrations:
        assert ast.parse(cell.source).body, "a cell of comments only"


@each_chapter
def test_hints_are_in_no_cell(chapter):
    texts = [cell.source for cell in stored("source", chapter).cells]
    for hints in read_script(PROJECT.solution(chapter.name)).hints.values():
        assert not any(hint[:40] in " ".join(text.split()) for hint in hints for text in texts)


@each_chapter
def test_release_holds_no_solution(chapter):
    nb = stored("release", chapter)
    text = "\n".join(cell.source for cell in nb.cells)
    assert "BEGIN SOLUTION" not in text and "HIDDEN" not in text
    source = PROJECT.solution(chapter.name).read_text(encoding="utf-8")
    solutions = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL)
    assert len(solutions) >= len(chapter.exercises)
    answers = {cell.id: cell.source for cell in nb.cells if marks(cell).get("solution")}
    for exercise in filter(lambda e: PROJECT.bug(chapter.name, e.name), chapter.exercises):
        given = answers.pop(exercise.name).splitlines()  # has a mistake, and is otherwise unchanged
        right = next(c for c in stored("source", chapter).cells if c.id == exercise.name)
        assert {line for line in right.source.splitlines() if "### " not in line} - set(given)
    code = "\n".join(answers.values())
    lines = {line.strip() for solution in solutions for line in solution.splitlines()}
    for line in lines - {"", "}", ")"}:
        assert line not in {shown.strip() for shown in code.splitlines()}, line
    assert all(not cell.get("outputs") for cell in nb.cells)


@each_chapter
def test_released_stubs_are_those_of_the_script(chapter):
    stubs = jupytext.read(PROJECT.exercises / f"{chapter.name}.py", fmt="py:percent")
    released = {c.id: c.source for c in stored("release", chapter).cells}
    code = {c.source for c in stubs.cells if c.cell_type == "code"}
    for exercise in chapter.exercises:
        assert released[exercise.name] in code


@each_chapter
@pytest.mark.parametrize("folder", ["source", "release"])
def test_checks_that_travel_along_hold_nothing_hidden(folder, chapter):
    files = read_zip(ROOT / folder / chapter.name / "checks.zip")
    assert set(files) == {
        "exercises/course.json",
        "exercises/checks.py",
        f"exercises/test_{chapter.name}.py",
        f"exercises/references/{chapter.name}.safetensors",
        f"exercises/references/{chapter.name}.fingerprints.json.gz",
        *(
            f"exercises/given/{chapter.name}/{p.name}"
            for p in (PROJECT.exercises / "given" / chapter.name).glob("*.py")
        ),
    }
    hidden = (ROOT / "graders" / "references" / f"{chapter.name}.safetensors").read_bytes()
    assert hidden not in files.values() and str(PROJECT.course.seed).encode() not in b"".join(
        files.values()
    )


@pytest.mark.slow
@each_chapter
def test_a_second_build_gives_the_same_notebooks(chapter):
    script = read_script(PROJECT.solution(chapter.name))
    first, second = notebook_text(script, chapter), notebook_text(script, chapter)
    assert first == second
    assert release_text(ROOT, chapter.name, first) == release_text(ROOT, chapter.name, first)


@pytest.mark.slow
@each_chapter
def test_committed_notebooks_are_fresh(chapter):
    script = script_for_learners(PROJECT, chapter)
    chapter = with_hints(PROJECT).chapter(chapter.name)
    for file in handout_files(PROJECT, chapter, script):
        assert file.fresh(), f"{file.path} is stale; run `tensorgrade build`"


@pytest.mark.slow
def test_a_changed_notebook_is_stale(tmp_path):
    chapter = CHAPTERS[0]
    for name in ("course_config.py", "nbgrader_config.py", "exercises", "solutions", "graders"):
        (tmp_path / name).symlink_to(ROOT / name)
    project = Project(tmp_path)
    files = handout_files(project, chapter, read_script(project.solution(chapter.name)))
    assert not any(file.fresh() for file in files)
    for file in files:
        file.write()
    assert all(file.fresh() for file in files)
    for file in files:
        if file.path.suffix == ".ipynb":
            text = file.path.read_text(encoding="utf-8")
            file.path.write_text(text.replace("attention", "attentino", 1), encoding="utf-8")
        else:
            changed = read_zip(file.path) | {"exercises/course.json": b"{}"}
            file.path.write_bytes(zipped(tuple(changed.items())))
    assert not any(file.fresh() for file in files)


def test_zip_files_have_the_same_bytes_each_time():
    files = ("a", b"1" * 1000), ("b/c", b"2")
    before = zipped(files)
    zipped.cache_clear()
    assert zipped(files) == before
