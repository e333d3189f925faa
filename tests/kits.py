"""A learner's kit in a folder, and the texts of all right answers as a learner's own."""

import shutil
from pathlib import Path

from tensorgrade.author.bundle import files_of_kit
from tensorgrade.learner.kit import Kit
from tensorgrade.practice.variants import plain

from .commands import ROOT

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


def right_texts(project) -> list[tuple[str, str, str]]:
    """Return the exercises of all right answers: chapter, exercise and the chapter's text."""
    found = []
    for chapter in project.course.chapters:
        solution = project.solution(chapter.name).read_text(encoding="utf-8")
        others = sorted((ROOT / "tests" / "right_answers" / chapter.name).glob("*.py"))
        for own in ["", *(path.read_text(encoding="utf-8") for path in others)]:
            text = f"{solution}\n\n{own}"
            names = [one.name for one in chapter.exercises if plain(own or solution, one.name)]
            found += [(chapter.name, name, text) for name in names]
    return found
