"""`tensorgrade build --check` passes as things are, and fails for every reason that it should."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from tensorgrade.author.building.derive import derive, script_for_learners, text_file, with_hints
from tensorgrade.author.building.parts import BuildOptions
from tensorgrade.author.building.reference_files import reference_paths
from tensorgrade.author.building.same import same_fingerprints, same_references, same_values
from tensorgrade.author.building.script import read_script, stub_text, without_solutions
from tensorgrade.author.proofs import build_checks as checks
from tensorgrade.author.proofs.build_checks import (
    proofs_of_a_release,
    stale,
    with_place,
    wrong_files,
)
from tensorgrade.author.proofs.course_errors import SMALLEST_SEED, chapter_errors
from tensorgrade.course import Chapter, CourseError, Exercise
from tensorgrade.exchange.references import load_references
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprint, Fingerprints, load_fingerprints
from tensorgrade.recognition.imprints import Imprint

from .small_course import build_exercise

CHAPTER = "ch1_simplified_attention"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_everything_derived_is_fresh(project):
    """As far as what it was made from tells; `make check` makes all of it anew."""
    files = list(derive(project))
    assert len(files) > 40 and stale(project, files) == []
    assert wrong_files(project, [file.path for file in files], BuildOptions()) == []
    assert proofs_of_a_release(project) == []


@pytest.mark.parametrize("hidden", [True, False])
def test_a_part_that_is_made_again_is_the_stored_one(project, hidden):
    chapter, exercise = "ch4_multi_head_attention", "split_heads"
    references, prints = build_exercise(str(project.root), chapter, exercise, hidden)
    stored, stored_prints = (
        load(path)
        for load, path in zip(
            (load_references, load_fingerprints),
            reference_paths(project, chapter, hidden),
            strict=True,
        )
    )
    own = stored.only(exercise)
    assert len(own.entries) > 3 and same_references(own, references)
    kept = Fingerprints({exercise: stored_prints.by_exercise[exercise]})
    assert len(prints) > 10 and same_fingerprints(kept, Fingerprints({exercise: prints}))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_another_processor_builds_the_same(project):
    """Sums come in another order there, and names in a set; what was stored is as fresh."""
    names = ["inverted_dropout", "batches", "TransformerBlock", "trained_loss"]
    command = [sys.executable, "-m", "tensorgrade.cli", "build", "--check", *names]
    elsewhere = os.environ | {"ATEN_CPU_CAPABILITY": "default", "PYTHONHASHSEED": "7"}
    built = subprocess.run(
        command, cwd=project.root, env=elsewhere, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert (
        "batches" in built.stdout
        and "fresh. Other" in built.stdout
        and "The solutions pass" in built.stdout
    )


@pytest.fixture
def copy(project, tmp_path):
    """A copy of the course's own folders, to be spoilt."""
    for name in ("solutions", "exercises", "graders"):
        shutil.copytree(
            project.root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(project.root / "course_config.py", tmp_path)
    return Project(tmp_path)


@pytest.mark.slow
def test_a_stale_stub_is_found(copy):
    script = script_for_learners(copy, copy.course.chapter(CHAPTER))
    file = text_file(copy.exercises / f"{CHAPTER}.py", stub_text(script))
    assert file.fresh()
    file.path.write_text(file.path.read_text("utf-8") + "\n# edited", "utf-8")
    assert not file.fresh()


@pytest.mark.slow
def test_a_solved_stub_is_found(copy):
    shutil.copy(copy.solution(CHAPTER), copy.exercises)
    said = checks.solved_stubs(copy, copy.course.chapter(CHAPTER))
    assert f"{CHAPTER}: the stub of softmax is solved already" in said


@pytest.mark.parametrize(
    "marker",
    [
        "# %% [markdown] Both ways give the same weights",
        '# %% [markdown] hints="softmax" Both ways',
        "# %% [markdown] `n=3` for all texts",
        "# %% Two ways",
        "# %% exercise=softmax",
    ],
)
def test_text_on_the_line_that_starts_a_cell_is_refused(tmp_path, marker):
    """It once disappeared from every derived file."""
    lesson = tmp_path / "ch1.py"
    lesson.write_text(f"# %% [markdown]\n# # Title\n\n{marker}\n# and more.\n", encoding="utf-8")
    with pytest.raises(CourseError, match=r"ch1\.py:4: text after `# %%` is lost") as refused:
        read_script(lesson)
    assert str(refused.value).endswith(marker)


@pytest.mark.slow
def test_a_missing_hint_point_or_mistake_is_found(project):
    script = read_script(project.solution(CHAPTER))
    chapter = next(c for c in with_hints(project).chapters if c.name == CHAPTER)
    assert chapter_errors(project, chapter, script) == []
    bare = replace(
        chapter, exercises=tuple(replace(e, hints=(), points=0) for e in chapter.exercises)
    )
    said = "\n".join(chapter_errors(project, bare, script))
    assert "softmax has fewer than 2 hints" in said and "softmax has no points" in said
    other = Chapter(CHAPTER, "", (*chapter.exercises, Exercise("nobody_wrote_this", 1, ("a", "b"))))
    said = "\n".join(chapter_errors(project, other, script))
    assert "nobody_wrote_this has no known mistake" in said
    assert "nobody_wrote_this: its cell defines nothing of that name" in said


def test_the_courses_seed_cannot_be_guessed(project):
    assert (project.course.seed or 0) >= SMALLEST_SEED


def test_a_stray_file_is_found(copy):
    (copy.exercises / "notes.txt").write_text("mine")
    (copy.graders / "references" / "old.safetensors").write_bytes(b"")
    for folder in ("release/ch0_left_out", "release/another_assignment"):
        (copy.root / folder).mkdir(parents=True)
    (copy.root / "release" / "ch0_left_out" / "checks.zip").write_bytes(b"")
    said = checks.strays(copy, [])
    assert "release/ch0_left_out does not belong there" in said
    assert not any("another_assignment" in line for line in said)
    assert any("exercises/notes.txt" in line for line in said)
    assert any("graders/references/old.safetensors" in line for line in said)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_failing_solution_is_found(copy):
    path = copy.solution(CHAPTER)
    path.write_text(
        path.read_text("utf-8").replace("return inputs @ query", "return inputs @ query + 1"),
        "utf-8",
    )
    assert "fail their own tests" in checks.failing_solutions(copy)[0]


def test_no_stub_holds_a_solution(project):
    for chapter in project.course.chapters:
        text = (project.exercises / f"{chapter.name}.py").read_text("utf-8")
        written = [e for e in chapter.exercises if not project.bug(chapter.name, e.name)]
        assert "SOLUTION" not in text
        assert text.count("raise NotImplementedError") >= len(written)


def test_regions_keep_their_indentation():
    source = "class A:\n    def f(self):\n"
    source += "        ### BEGIN SOLUTION\n        x = 1\n        ### END SOLUTION\n"
    assert (
        without_solutions(source)
        == "class A:\n    def f(self):\n        raise NotImplementedError\n"
    )


@pytest.mark.slow
def test_the_sample_class_has_trouble_in_it(project, tmp_path):
    from tensorgrade.author.proofs.sample_class import TROUBLE, write_sample_class

    assert write_sample_class(project, tmp_path, 30) == 180
    texts = [path.read_bytes() for path in tmp_path.glob("*/*/*.py")]
    signs = (b"((", b"while True", b"a_package_that_is_not_there", b"os._exit", b"input(", b"\xe9")
    assert len(signs) == len(TROUBLE)
    for sign in signs:
        assert any(sign in text for text in texts), sign
    assert all(b"invented learner" in text for text in texts)


def test_plain_values_may_differ_by_rounding_only():
    loss = {"result": {"type": "float", "json": 3.262392282485962}}
    assert same_values(loss, {"result": {"type": "float", "json": 3.262392044067383}})
    assert not same_values(loss, {"result": {"type": "float", "json": 3.2625}})
    assert not same_values(loss, {"result": {"type": "int", "json": 3}})
    assert same_values([1, "a", None], [1, "a", None]) and not same_values([1], [True])


def test_fingerprints_on_other_cases_are_others():
    """A renamed case does not stop a build: the stored references are rebuilt."""
    stored, built = (
        Fingerprints({"f": [Fingerprint(("wrong",), {case: Imprint("x")})]})
        for case in ("a/1", "a/2")
    )
    assert same_fingerprints(stored, stored) and not same_fingerprints(stored, built)


def test_a_message_about_an_exercise_begins_with_its_lesson(project):
    chapter = project.course.chapters[0]
    line = f"{chapter.exercises[0].name}: no such case"
    assert with_place(project, line) == f"{project.solution(chapter.name)}: {line}"
    assert with_place(project, f"all: {line}") == f"all: {line}"
