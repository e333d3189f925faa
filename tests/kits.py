"""A learner's kit in a folder, made once and copied for each test that changes it."""

import shutil
from pathlib import Path

from tensorgrade.author.bundle import files_of_kit
from tensorgrade.learner.kit import Kit

FIRST = ("ch1_simplified_attention", "ch2_self_attention")


def unpacked(project, folder: Path, solved: tuple[str, ...] = FIRST) -> Kit:
    """Write a kit into a folder, with the solutions of these chapters as the learner's own."""
    for name, content in files_of_kit(project).items():
        if not name.startswith(("notebooks/", "tensorgrade-")):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    for chapter in solved:
        shutil.copy(project.solution(chapter), folder / "exercises")
    return Kit(folder)
