"""Notebooks of every chapter meet nbgrader's needs, and releases contain no secrets."""

import ast
import io
import json
import re
import struct
import zipfile
from pathlib import Path

import jupytext
import nbformat
import pytest

from ..support import ROOT

PLACES = ("source", "release")


@pytest.fixture(scope="module")
def chapters(project) -> list:
    return list(project.course.chapters)


def stored(folder: str, chapter):
    """Return the notebook of a chapter in `source` or `release`."""
    return nbformat.read(ROOT / folder / chapter.name / f"{chapter.name}.ipynb", as_version=4)


def lesson(chapter) -> str:
    """Return the text of a chapter's lesson."""
    return (ROOT / "solutions" / f"{chapter.name}.py").read_text(encoding="utf-8")


def marks(cell) -> dict:
    """Return a cell's nbgrader metadata; empty without any."""
    return dict(cell.metadata.get("nbgrader", {}))


def test_each_exercise_is_followed_by_its_check_and_its_graded_cell(chapters):
    for folder in PLACES:
        for chapter in chapters:
            nb = stored(folder, chapter)
            nbformat.validate(nb)
            ids = [cell.id for cell in nb.cells]
            grade_ids = {marks(cell)["grade_id"] for cell in nb.cells if marks(cell)}
            assert len(set(ids)) == len(ids) and grade_ids <= set(ids)
            assert nb.metadata.kernelspec.name == "python3"
            names = [exercise.name for exercise in chapter.exercises]
            assert [name for name in ids if name in names] == names
            for exercise in chapter.exercises:
                at = ids.index(exercise.name)
                solution, check, graded = (marks(cell) for cell in nb.cells[at : at + 3])
                assert solution["solution"] and not solution["locked"]
                assert nb.cells[at + 1].source == f'check("{exercise.name}")' and check["locked"]
                assert graded["grade"] and graded["locked"] and not graded["solution"]
                assert graded["points"] == exercise.points
                assert nb.cells[at + 2].source.endswith(f'points("{exercise.name}")')


def test_lessons_and_imports_are_locked_and_demonstrations_are_free_code(chapters):
    for chapter in chapters:
        for cell in stored("release", chapter).cells:
            assert bool(marks(cell)) != cell.id.startswith(("try-", "pictures"))
            if cell.cell_type == "markdown" or cell.id in ("imports", "tools"):
                assert marks(cell)["locked"] and cell.metadata.editable is False
        free = [cell for cell in stored("source", chapter).cells if not marks(cell)]
        assert len(free) == len(re.findall(r"^# %%.* active=", lesson(chapter), re.MULTILINE))
        assert all(ast.parse(cell.source).body for cell in free), "a cell of comments only"


def test_releases_hold_the_stubs_and_neither_solutions_nor_hints(project, chapters):
    for chapter in chapters:
        nb, source = stored("release", chapter), lesson(chapter)
        text = "\n".join(cell.source for cell in nb.cells)
        assert "BEGIN SOLUTION" not in text and "HIDDEN" not in text
        assert all(not cell.get("outputs") for cell in nb.cells)
        answers = {cell.id: cell.source for cell in nb.cells if marks(cell).get("solution")}
        stubs = jupytext.read(project.exercises / f"{chapter.name}.py", fmt="py:percent")
        code = {cell.source for cell in stubs.cells if cell.cell_type == "code"}
        assert all(answers[exercise.name] in code for exercise in chapter.exercises)
        for exercise in [one for one in chapter.exercises if one.like]:
            given = answers.pop(exercise.name).splitlines()  # has a mistake, else unchanged
            right = next(c for c in stored("source", chapter).cells if c.id == exercise.name)
            assert {line for line in right.source.splitlines() if "### " not in line} - set(given)
        solutions = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL)
        assert len(solutions) >= len(chapter.exercises)
        lines = {line.strip() for one in solutions for line in one.splitlines()}
        shown = {line.strip() for one in answers.values() for line in one.splitlines()}
        assert not (lines - {"", "}", ")"}) & shown
        for hint in (hint for exercise in chapter.exercises for hint in exercise.hints):
            assert hint[:40] not in " ".join(text.split())


def test_checks_that_travel_along_hold_nothing_hidden(project, chapters):
    for chapter in chapters:
        given = (ROOT / "exercises" / "given" / chapter.name).glob("*.py")
        expected = {
            "exercises/course.json",
            "exercises/checks.py",
            f"exercises/references/{chapter.name}/mistakes.json",
            *(
                f"exercises/references/{chapter.name}/{e.name}.safetensors"
                for e in chapter.exercises
            ),
            *(f"exercises/given/{chapter.name}/{path.name}" for path in given),
        }
        folder = ROOT / "graders" / "references" / chapter.name
        hidden = {path.read_bytes() for path in folder.glob("*.safetensors")}
        for folder in PLACES:
            content = (ROOT / folder / chapter.name / "checks.zip").read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                files = {name: archive.read(name) for name in archive.namelist()}
            assert set(files) == expected and hidden.isdisjoint(files.values())
            assert str(project.course.seed).encode() not in b"".join(files.values())


def test_every_picture_is_in_its_notebook_and_a_script_tells_it(chapters):
    for chapter in chapters:
        path = Path(ROOT / "source" / chapter.name / f"{chapter.name}.ipynb")
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        named = [
            n for c in cells for n in re.findall(r"attachment:([\w.-]+)", "".join(c["source"]))
        ]
        assert named and named == [name for cell in cells for name in cell.get("attachments", {})]
        stub = (ROOT / "exercises" / f"{chapter.name}.py").read_text(encoding="utf-8")
        assert "[Picture: " in stub and ".png" not in stub
        assert "$$" not in stub and "\\frac" not in stub
    drawings = sorted((ROOT / "solutions" / "pictures").glob("*.svg"))
    assert len(drawings) >= 6
    for drawing in drawings:
        size = re.search(r'width="(\d+)" height="(\d+)"', drawing.read_text(encoding="utf-8"))
        drawn = struct.unpack(">II", drawing.with_suffix(".png").read_bytes()[16:24])
        assert drawn == (2 * int(size[1]), 2 * int(size[2])), drawing.name
