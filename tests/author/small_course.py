"""A small course, made by the scaffolds: four exercises of three kinds, in two chapters."""

import sys
from pathlib import Path

import torch

from tensorgrade.author import scaffolds
from tensorgrade.author.building.parts import BuildOptions
from tensorgrade.author.proofs.build_checks import Built, rebuild
from tensorgrade.author.recording.references import Recording, pairs_of, tell_apart
from tensorgrade.exchange.references import References
from tensorgrade.grader_files import package_of
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprint

CHAPTER = "ch1_first_steps"
GRADER = f"graders/{CHAPTER}/scaled.py"


def make_course(root: Path) -> Path:
    """The course, not built yet."""
    scaffolds.new_course(root, "Small steps")
    scaffolds.new_exercise(Project(root), CHAPTER, "Shift", "class")
    scaffolds.new_exercise(Project(root), CHAPTER, "word_counts", "values")
    scaffolds.new_chapter(Project(root), "ch2_more")
    return root


def build(root: Path, **options) -> tuple[Built, list[str]]:
    """Build the course now; return the result and the lines that the build printed."""
    sys.dont_write_bytecode = True
    package, said = package_of(root / "graders"), []
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    built = rebuild(Project(root), BuildOptions(**options), lambda *_: None, said.append)
    return built, [line.removeprefix("wrote ") for line in said]


def build_exercise(
    root: str, chapter: str, exercise: str, hidden: bool, isolation: str = "auto"
) -> tuple[References, list[Fingerprint]]:
    """All references and fingerprints of an exercise; with pairs of mistakes on public cases."""
    torch.set_num_threads(1)
    recording = Recording(Project(Path(root)), chapter, exercise, hidden, isolation)
    rows = recording.rows(recording.singles + recording.in_forms)
    prints = tell_apart(recording, rows)
    if not hidden:
        pairs = filter(recording.fits, pairs_of(recording, prints))
        prints = tell_apart(recording, rows | recording.rows(pairs))
    return recording.references, prints


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change a text that is there."""
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
