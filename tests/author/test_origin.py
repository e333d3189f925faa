"""What references are made from: code and cases count, lesson text and tests do not."""

import shutil

import pytest

from tensorgrade import folders
from tensorgrade.author.building.reference_files import all_parts
from tensorgrade.author.recording.origin import origin
from tensorgrade.instructor.dependencies import digest_of
from tensorgrade.project import Project

CHAPTER = "ch3_causal_attention"


@pytest.fixture(scope="module")
def copied(project, tmp_path_factory) -> Project:
    """A copy of the course's own files."""
    root = tmp_path_factory.mktemp("copied")
    for name in ("solutions", "graders", "exercises"):
        skipped = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.json")
        shutil.copytree(project.root / name, root / name, ignore=skipped)
    shutil.copy(project.root / "course_config.py", root)
    return Project(root)


def changed(project: Project, path: str, old: str, new: str) -> tuple[set[str], set[str]]:
    """(exercises whose references, chapters whose grades are not current) after an edit."""
    before = digests(project)
    file = project.root / path
    text = file.read_text(encoding="utf-8")
    assert old in text
    try:
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
        after = digests(project)
    finally:
        file.write_text(text, encoding="utf-8")
    made, graded = (
        {key for key in b if b[key] != a[key]} for b, a in zip(before, after, strict=True)
    )
    return made, graded


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A copy of the engine, which is what digests are then taken of."""
    copy = tmp_path / "tensorgrade"
    shutil.copytree(folders.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "ENGINE", copy)
    return copy


def digests(project: Project) -> tuple[dict, dict]:
    made = {p: origin(project, p.chapter, p.exercise, p.hidden) for p in all_parts(project)}
    chapters = [chapter.name for chapter in project.course.chapters]
    return made, {name: digest_of(project.graders, name) for name in chapters}


@pytest.mark.parametrize("place", ["before", "later"])
def test_nothing_depends_on_where_course_and_engine_lie(copied, monkeypatch, place):
    before = digests(copied)
    copy = copied.root.parent / ("a" if place == "before" else "z") / "tensorgrade"
    shutil.copytree(folders.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "ENGINE", copy)
    assert digests(copied) == before


def test_a_lessons_text_and_a_docstring_change_nothing(copied):
    lesson = f"solutions/{CHAPTER}.py"
    assert changed(copied, lesson, "every token looked", "each token looked") == (set(), set())
    assert changed(copied, lesson, '"""Return the mask', '"""Give the mask') == (set(), set())


def test_a_solution_changes_what_reaches_it(copied):
    made, graded = changed(
        copied, f"solutions/{CHAPTER}.py", "torch.triu(ones, diagonal=1)", "torch.ones(2)"
    )
    assert {(part.exercise, part.hidden) for part in made} == {
        ("causal_mask", True),
        ("causal_mask", False),
    }
    assert graded == set()  # until the references are built anew


def test_a_case_changes_its_exercise_and_its_chapter(copied):
    grader = f"graders/{CHAPTER}/causal_mask.py"
    made, graded = changed(copied, grader, "hidden=[1, 2,", "hidden=[1, 3,")
    assert {part.exercise for part in made} == {"causal_mask"} and graded == {CHAPTER}


def test_a_test_is_graded_again_and_rebuilds_nothing(copied):
    grader = f"graders/{CHAPTER}/causal_mask.py"
    assert changed(copied, grader, "points=4", "points=3.5") == (set(), {CHAPTER})


def test_what_is_shared_counts_everywhere(copied):
    made, graded = changed(copied, "graders/shared.py", "0.43", "0.44")
    assert len(made) == len(all_parts(copied)) and len(graded) == 4


NEW_CODE = "\nA_NEW_NAME = 1\n"
ALL, NONE = "all", "none"


@pytest.mark.parametrize(
    "file, more, made_again, graded_again",
    [
        ("views/note.py", NEW_CODE, NONE, NONE),
        ("instructor/report/page.py", NEW_CODE, NONE, NONE),
        ("author/bundle.py", NEW_CODE, NONE, NONE),
        ("judging/agreement.py", NEW_CODE, NONE, ALL),
        ("isolation/warm_process.py", NEW_CODE, NONE, ALL),
        ("runner/serve.py", "\n# A comment.\n", NONE, ALL),
        ("runner/serve.py", NEW_CODE, ALL, ALL),
        ("recognition/dropout.py", NEW_CODE, ALL, ALL),
        ("author/recording/steps.py", NEW_CODE, ALL, NONE),
    ],
)
def test_a_file_of_the_engine_counts_by_its_folder(
    copied, engine, file, more, made_again, graded_again
):
    before = digests(copied)
    with (engine / file).open("a", encoding="utf-8") as open_file:
        open_file.write(more)
    for was, now, again in zip(before, digests(copied), (made_again, graded_again), strict=True):
        changed_ones = {key for key in was if was[key] != now[key]}
        assert changed_ones == (set(was) if again == ALL else set())
