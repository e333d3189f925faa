"""Edits of solutions and graders that were not built are refused wherever references are used."""

from types import SimpleNamespace

import pytest

from tensorgrade.author.bundle import write_kit
from tensorgrade.built_code import read_built, record_built, refuse_unbuilt
from tensorgrade.course import CourseError
from tensorgrade.instructor import run
from tensorgrade.instructor.channels import write_channel
from tensorgrade.project import made_from

from .runs import grade_by_content, put
from .test_exporting import CH1, CH2, COURSE

FIRST = COURSE.chapters[0].exercises[0].name
GRADER = f"""'''Cases and tests.'''


def cases(pick):
    return [1, 2]


@exercise("{FIRST}", points=2)
def test_first(attempt):
    attempt.first.agrees("values")
"""
SOLUTION = (
    f"# %% [markdown]\n# A lesson.\n\n# %%\ndef {FIRST}(x):\n    '''Twice.'''\n    return 2 * x\n"
)
FILES = {
    f"solutions/{CH1}.py": SOLUTION,
    f"solutions/{CH2}.py": SOLUTION,
    f"graders/{CH1}/{FIRST}.py": GRADER,
    "graders/shared.py": "SIZE = 3\n",
    "graders/references/made_from.json": "{}",
}


@pytest.fixture
def project(tmp_path):
    """A course as a build left it; only its files matter."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "course.json").write_text(COURSE.public_json())
    course = SimpleNamespace(root=tmp_path, course=COURSE, graders=tmp_path / "graders")
    course.exercises = tmp_path / "exercises"
    record_built(course, {})
    return course


def edit(project, name, old, new):
    path = project.root / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


@pytest.mark.parametrize("name, old, new, one, other", [
    (f"solutions/{CH1}.py", "2 * x", "3 * x", True, False),
    (f"solutions/{CH2}.py", "2 * x", "3 * x", False, True),
    (f"graders/{CH1}/{FIRST}.py", "[1, 2]", "[1, 3]", True, False),
    ("graders/shared.py", "3", "4", True, True),
    (f"solutions/{CH1}.py", "A lesson", "Another lesson", False, False),
    (f"solutions/{CH1}.py", "'''Twice.'''", "'''Double.'''", False, False),
    (f"graders/{CH1}/{FIRST}.py", "points=2", "points=3", False, False),
    (f"graders/{CH1}/{FIRST}.py", '"values"', '"other"', False, False),
])  # fmt: skip
def test_only_code_that_references_depend_on_is_refused(project, name, old, new, one, other):
    edit(project, name, old, new)
    for chapter, is_refused in ((CH1, one), (CH2, other)):
        if not is_refused:
            refuse_unbuilt(project.graders, [chapter])
            continue
        with pytest.raises(CourseError, match=rf"since the last build: {name}\. .*build` first"):
            refuse_unbuilt(project.graders, [chapter])


def test_kit_and_channel_refuse_too(project, tmp_path):
    edit(project, f"solutions/{CH1}.py", "2 * x", "3 * x")
    zipped = tmp_path / "a.zip"
    for use in (
        lambda: write_kit(project, zipped),
        lambda: write_channel("gradescope", project, CH1, zipped, "uid"),
    ):
        with pytest.raises(CourseError, match="changed since the last build"):
            use()
    assert not zipped.exists()


def test_grade_refuses_before_it_writes_anything(monkeypatch, tmp_path):
    asked = []

    def refuse(graders, chapters):
        asked.append(chapters)
        raise CourseError("changed since the last build")

    monkeypatch.setattr(run, "refuse_unbuilt", refuse)
    put(tmp_path / "in", "ada", CH2, 1.0)
    with pytest.raises(CourseError, match="changed since the last build"):
        grade_by_content(monkeypatch, tmp_path / "in", tmp_path / "out")
    assert asked == [{CH2}] and not (tmp_path / "out").exists()


def test_without_solutions_or_record_there_is_nothing_to_compare(project):
    edit(project, "graders/shared.py", "3", "4")
    made_from(project.graders).write_text('{"files": "of another build"}')
    refuse_unbuilt(project.graders, [CH1])
    record_built(project, {})
    (project.root / f"solutions/{CH1}.py").unlink()
    refuse_unbuilt(project.graders, [CH1])
    (project.root / ".tensorgrade" / "built_code.json").write_text("{")
    edit(project, "graders/shared.py", "4", "5")
    refuse_unbuilt(project.graders, [CH1])


def test_a_build_of_some_exercises_records_only_these(project):
    before = read_built(project.root, project.graders)
    edit(project, f"solutions/{CH1}.py", "2 * x", "3 * x")
    edit(project, f"graders/{CH1}/{FIRST}.py", "[1, 2]", "[1, 3]")
    record_built(project, before, {FIRST})
    with pytest.raises(CourseError, match=rf"last build: solutions/{CH1}\.py\. "):
        refuse_unbuilt(project.graders, [CH1])
    record_built(project, before, {one.name for one in COURSE.chapters[0].exercises})
    refuse_unbuilt(project.graders, [CH1])
