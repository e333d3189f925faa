"""Digests decide what is built and graded again: the course's own code counts, and the engine's
where it takes part."""

import shutil
import sys

import pytest

from tensorgrade import folders
from tensorgrade.author.building.reference_files import all_parts
from tensorgrade.author.recording.digests import engine_digest, part_digest
from tensorgrade.grader_files import package_of
from tensorgrade.instructor.dependencies import digest_of
from tensorgrade.project import Project

from .small_course import CHAPTER, GRADER, LESSON, edit

# An edit of the course or the engine; which parts of `scaled` are built again, by whether their
# cases are hidden; and whether the chapter is graded again.
EDITS = [
    (LESSON, "Explain what to write", "Say it", set(), False),
    (LESSON, "return x * factor", "return factor * x", {False, True}, False),  # after a build
    (GRADER, "hidden=[(5,),", "hidden=[(6,),", {True}, True),
    (GRADER, "points=4", "points=3.5", set(), True),
    (GRADER, "scaled_factor_added:", "added:", {False, True}, True),
    ("course_config.py", "seed=", "seed=1", {True}, True),
    ("tensorgrade/views/note.py", '"""', '"""New. ', set(), False),
    ("tensorgrade/runner/serve.py", "\nimport ", "\nA_NEW_NAME = 1\nimport ", {False, True}, True),
    ("tensorgrade/recognition/imprints.py", ".cos_()", ".sin_()", {False, True}, True),
    ("tensorgrade/sandbox/processes.py", "\nimport ", "\nNEW = 1\nimport ", set(), True),
]


@pytest.mark.slow
def test_what_an_edit_builds_and_grades_again(small_course, tmp_path, monkeypatch):
    root = shutil.copytree(small_course, tmp_path / "small")
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(folders.ENGINE, root / "tensorgrade", ignore=skipped)
    monkeypatch.setattr(folders, "ENGINE", root / "tensorgrade")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def digests() -> tuple[dict, str]:
        package = package_of(root / "graders")
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]
        engine_digest.cache_clear()
        project = Project(root)
        parts = [part for part in all_parts(project) if part.exercise == "scaled"]
        made = {part.hidden: part_digest(part.recording(project)) for part in parts}
        return made, digest_of(project.graders, CHAPTER)

    try:
        made, graded = digests()
        for path, old, new, built_again, graded_again in EDITS:
            before = (root / path).read_bytes()
            edit(root, path, old, new)
            made_now, graded_now = digests()
            assert {hidden for hidden in made if made[hidden] != made_now[hidden]} == built_again, (
                new
            )
            assert (graded != graded_now) == graded_again, new
            (root / path).write_bytes(before)
    finally:
        engine_digest.cache_clear()
