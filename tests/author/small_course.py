"""A small course, made by the scaffolds: four exercises of three kinds, in two chapters."""

from pathlib import Path

import torch

from tensorgrade.author import scaffolds
from tensorgrade.author.building import singles_of, with_pairs
from tensorgrade.author.recording import Recording
from tensorgrade.exchange.references import References
from tensorgrade.project import Project
from tensorgrade.recognition.fingerprints import Fingerprint

from ..support import cli

CHAPTER = "ch1_first_steps"
LESSON = f"solutions/{CHAPTER}.py"
GRADER = f"graders/{CHAPTER}/scaled.py"
COUNTS = f"graders/{CHAPTER}/word_counts.py"


def make_course(root: Path) -> Path:
    """Write the course and return its folder. It is not built yet."""
    scaffolds.new_course(root, "Small steps")
    scaffolds.new_exercise(Project(root), CHAPTER, "Shift", "class")
    scaffolds.new_exercise(Project(root), CHAPTER, "word_counts", "values")
    scaffolds.new_chapter(Project(root), "ch2_more")
    return root


def build(root: Path, *words: object) -> list[str]:
    """Build the course with `tensorgrade build`. Return the paths that it wrote."""
    done = cli("build", *words, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return [line.removeprefix("wrote ") for line in lines if line.startswith("wrote ")]


def refused(root: Path, *words: object) -> str:
    """Return what `tensorgrade build` says is wrong; fail if it finds nothing."""
    done = cli("build", *words, cwd=root)
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "Traceback" not in said, said
    return said


def derived(root: Path) -> dict[str, bytes]:
    """Return the bytes of all derived files, by their paths; not what Python compiled of them."""
    places = ("exercises", "graders/references", "graders/pairs", "source")
    paths = [p for place in places for p in sorted((root / place).rglob("*")) if p.is_file()]
    made = [path for path in paths if path.parent.name != "__pycache__"]
    return {str(path.relative_to(root)): path.read_bytes() for path in made}


def build_exercise(
    root: str, chapter: str, exercise: str, hidden: bool
) -> tuple[References, list[Fingerprint]]:
    """Return an exercise's references and fingerprints; with pairs of mistakes on public cases."""
    torch.set_num_threads(1)
    recording = Recording(Project(Path(root)), chapter, exercise, hidden)
    prints = singles_of(recording)
    if not hidden:
        prints, _ = with_pairs(recording, prints, True)
    return recording.references, prints


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change a text that is there."""
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new, 1), encoding="utf-8")
