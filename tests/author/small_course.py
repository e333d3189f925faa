"""A small course, made by the scaffolds: four exercises of three kinds, in two chapters."""

import sys
from pathlib import Path

from tensorgrade.author import scaffolds
from tensorgrade.author.building.made_parts import Wish
from tensorgrade.author.proofs.complaints import Built, rebuild
from tensorgrade.grader_files import package_of
from tensorgrade.project import Project

CHAPTER = "ch1_first_steps"
GRADER = f"graders/{CHAPTER}/scaled.py"


def make_course(root: Path) -> Path:
    """The course, not built yet."""
    scaffolds.new_course(root, "Small steps")
    scaffolds.new_exercise(Project(root), CHAPTER, "Shift", "class")
    scaffolds.new_exercise(Project(root), CHAPTER, "word_counts", "values")
    scaffolds.new_chapter(Project(root), "ch2_more")
    return root


def build(root: Path, **wish) -> tuple[Built, list[str]]:
    """Build the course in its current state; return the outcome and the written files."""
    sys.dont_write_bytecode = True
    package, wrote = package_of(root / "graders"), []
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    return rebuild(Project(root), Wish(**wish), lambda *_: None, wrote.append), wrote


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change a text that is there."""
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
