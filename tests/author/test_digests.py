"""Digests of an exercise's sources: code and cases count, lesson text and tests do not."""

import shutil
import sys
from pathlib import Path

import pytest

from tensorgrade import folders
from tensorgrade.author.building.parts import Part
from tensorgrade.author.building.reference_files import all_parts
from tensorgrade.author.recording.digests import engine_digest, pairs_digest, part_digest
from tensorgrade.grader_files import package_of
from tensorgrade.instructor.dependencies import digest_of
from tensorgrade.project import Project

from ..sampling import first_of_each

CHAPTER = "ch3_causal_attention"


@pytest.fixture(scope="module")
def copied(project, tmp_path_factory) -> tuple[Project, tuple]:
    """A copy of the course's own files, and its digests; every test leaves it unchanged."""
    copy = copy_to(project, tmp_path_factory.mktemp("copied"))
    return copy, digests(copy)


def copy_to(project: Project, root: Path) -> Project:
    for name in ("solutions", "graders", "exercises"):
        skipped = shutil.ignore_patterns("__pycache__", "*.safetensors", "*.json")
        shutil.copytree(project.root / name, root / name, ignore=skipped)
    shutil.copy(project.root / "course_config.py", root)
    return Project(root)


def changed(copied: tuple[Project, tuple], path: str, old: str, new: str) -> tuple[set, set]:
    """Return the parts of a chapter to build and the chapters to grade again after an edit."""
    project, before = copied
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
    return {(part.exercise, part.hidden) for part in made}, graded


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """A copy of the engine, which is what digests are then taken of."""
    copy = tmp_path / "tensorgrade"
    shutil.copytree(folders.ENGINE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(folders, "ENGINE", copy)
    return copy


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch):
    """A file that is changed twice within a second is read twice."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    engine_digest.cache_clear()


def digests(project: Project, chapter: str = CHAPTER) -> tuple[dict, dict]:
    """Return the sources of a chapter's parts, read again, and those of all grades."""
    project = Project(project.root)
    engine_digest.cache_clear()
    package = package_of(project.graders)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    parts = [part for part in all_parts(project) if part.chapter == chapter]
    made = {part: part_digest(part.recording(project)) for part in parts}
    names = [one.name for one in project.course.chapters]
    return made, {name: digest_of(project.graders, name) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("place", ["before", "later"])
def test_nothing_depends_on_where_course_and_engine_lie(copied, monkeypatch, place):
    project, before = copied
    beside = project.root.parent / ("a" if place == "before" else "z")
    shutil.copytree(
        folders.ENGINE, beside / "tensorgrade", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setattr(folders, "ENGINE", beside / "tensorgrade")
    assert digests(copy_to(project, beside / "course")) == before


@pytest.mark.slow
def test_a_lessons_text_and_a_docstring_change_nothing(copied):
    lesson = f"solutions/{CHAPTER}.py"
    assert changed(copied, lesson, "every token looked", "each token looked") == (set(), set())
    assert changed(copied, lesson, '"""Return the mask', '"""Give the mask') == (set(), set())


@pytest.mark.slow
def test_a_solution_changes_what_reaches_it(copied):
    made, graded = changed(
        copied, f"solutions/{CHAPTER}.py", "torch.triu(ones, diagonal=1)", "torch.ones(2)"
    )
    assert made == {("causal_mask", True), ("causal_mask", False)}
    assert graded == set()  # until the references are rebuilt


@pytest.mark.slow
def test_a_case_changes_its_own_side_and_its_chapter(copied):
    grader = f"graders/{CHAPTER}/causal_mask.py"
    made, graded = changed(copied, grader, "hidden=[1, few,", "hidden=[2, few,")
    assert made == {("causal_mask", True)} and graded == {CHAPTER}


@pytest.mark.slow
def test_a_test_and_a_message_are_graded_again_and_rebuild_nothing(copied):
    grader = f"graders/{CHAPTER}/causal_mask.py"
    assert changed(copied, grader, "points=4", "points=3.5") == (set(), {CHAPTER})
    assert changed(copied, grader, '"The mask', '"This mask')[0] == set()


@pytest.mark.slow
def test_another_edit_or_name_of_a_mistake_changes_its_exercise(copied):
    grader = f"graders/{CHAPTER}/causal_mask.py"
    both = {("causal_mask", True), ("causal_mask", False)}
    assert changed(copied, grader, 'mistake(\n        "', 'mistake(\n        "other_')[0] == both


@pytest.mark.slow
def test_what_is_shared_counts_where_it_is_used(copied):
    made, graded = changed(copied, "graders/shared.py", "0.43", "0.44")
    # The sentence is shown to learners; graders have cases of their own.
    assert ("CausalAttention", False) in made and len(graded) == 6
    assert not any(hidden for _, hidden in made)


def test_another_seed_changes_hidden_parts_with_drawn_numbers(copied):
    made, _ = changed(copied, "course_config.py", "seed=2021", "seed=3021")
    assert ("CausalAttention", True) in made
    assert all(hidden for _, hidden in made)


# Which parts are built again: whether their cases are hidden.
NONE, PUBLIC, ALL = frozenset(), frozenset({False}), frozenset({False, True})


@pytest.mark.slow
@pytest.mark.parametrize(
    "file, old, new, made_again, graded_again",
    first_of_each(
        [
            ("views/note.py", "", "A_NEW_NAME = 1", NONE, False),
            ("author/bundle.py", "", "A_NEW_NAME = 1", NONE, False),
            ("judging/tensor_comparison.py", "", "A_NEW_NAME = 1", PUBLIC, True),
            ("isolation/warm_process.py", "", "A_NEW_NAME = 1", NONE, True),
            ("runner/serve.py", "", "print(1)", ALL, True),
            ("runner/steps.py", "copy.deepcopy(runner.objects[", "(runner.objects[", ALL, True),
            ("runner/torch_state.py", "torch.float32)", "torch.float64)", ALL, True),
            ("recognition/imprints.py", ".cos_()", ".sin_()", ALL, True),
            ("recognition/mistakes.py", ".replace(old, new)", ".replace(new, old)", ALL, True),
        ],
        lambda case: case[3:],
    ),
)
def test_code_of_the_engine_counts_if_it_takes_part_in_recording(
    copied, engine, file, old, new, made_again, graded_again
):
    project, before = copied
    path = engine / file
    text = path.read_text(encoding="utf-8") if path.exists() else '"""New."""\n'
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else f"{text}\n{new}\n", encoding="utf-8")
    (parts, grades), (parts_now, grades_now) = before, digests(project)
    changed_parts = {part for part in parts if parts[part] != parts_now[part]}
    assert changed_parts == {part for part in parts if part.hidden in made_again}
    assert (grades != grades_now) == graded_again
    assert not graded_again or all(grades[name] != grades_now[name] for name in grades)


def test_pairs_depend_on_no_number_and_not_on_the_engine(project, engine):
    """Their digests are handed from one machine to another."""
    part = Part(CHAPTER, "inverted_dropout", hidden=False)
    recording = part.recording(project)
    before = part_digest(recording), pairs_digest(recording)
    for case in recording.cases:
        for tensor in case.tensors.values():
            tensor += 1e-6 if tensor.is_floating_point() else 0
    after = part_digest(recording), pairs_digest(recording)
    project.drawn.clear()
    assert before[0] != after[0] and before[1] == after[1]
    path = engine / "runner" / "serve.py"
    path.write_text(path.read_text("utf-8") + "A_NEW_NAME = 1\n", encoding="utf-8")
    engine_digest.cache_clear()
    again = part.recording(project)
    assert part_digest(again) != before[0] and pairs_digest(again) == before[1]
