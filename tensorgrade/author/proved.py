"""The results of the last build, the changes since then, and the exercises that they affect.

The record is cached in `.tensorgrade/` and compares files by their content. This module never
imports torch, so a build without changes finishes before torch is loaded.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..folders import ENGINE, files_below
from ..grader_files import bug_in
from ..project import Project
from .kept import Kept

PROVED = "proved.json"
FOLDERS = ("solutions", "graders", "exercises", "source", "release")
PACKAGES = ("torch", "safetensors", "pytest", "jupytext", "nbformat", "nbgrader")
Seen = dict[str, str]  # digests of files by their path, and versions by package name


@dataclass(frozen=True)
class Proved:
    """A record that every exercise is proved.

    seen: the files and packages at that time. pairs: True if all pairs of mistakes existed.
    said: the build's last line. All fields are empty if there was no such build.
    """

    seen: Seen = field(default_factory=dict)
    pairs: bool = False
    said: str = ""


def proved_before(root: Path) -> Proved:
    """Return the record of the last build that proved everything."""
    try:
        return Proved(**json.loads(Kept(root).text(PROVED)))
    except (ValueError, TypeError):  # missing, or truncated
        return Proved()


def keep_proved(root: Path, proved: Proved) -> None:
    """Record that everything is proved."""
    Kept(root).keep_text(PROVED, json.dumps(asdict(proved)))


def seen_now(root: Path) -> Seen:
    """Return digests of all files that a build of this course reads or writes, and all versions."""
    paths = [path for name in FOLDERS for path in files_below(root / name)]
    paths += root.glob("*_config.py")
    engine = {f"engine {path.relative_to(ENGINE)}": path for path in files_below(ENGINE)}
    found = {name: digest_of(path) for name, path in engine.items()} | seen_in(root, paths)
    return found | {"Python": sys.version} | {name: version_of(name) for name in PACKAGES}


def seen_in(root: Path, paths: Iterable[Path]) -> Seen:
    """Return digests of some files of a course."""
    return {str(path.relative_to(root)): digest_of(path) for path in paths}


def digest_of(path: Path) -> str:
    """Return a digest of a file's content."""
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


def version_of(package: str) -> str:
    """Return the installed version of a package, or an empty string if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unproved(project: Project, proved: Proved, seen: Seen) -> frozenset[str] | None:
    """Return the exercises that still have to be proved, or None if it may be all of them.

    seen: the current digests and versions.
    """
    names = {name for name, _ in proved.seen.items() ^ seen.items()}
    if not proved.said:
        return None
    return concerned(project, [project.root / name for name in names]) if names else frozenset()


def concerned(project: Project, changed: Iterable[Path]) -> frozenset[str] | None:
    """Return the exercises that these files affect, or None if it may be all of them."""
    found: set[str] = set()
    chapters = {chapter.name: chapter for chapter in project.course.chapters}
    for path in changed:
        lesson = path.parent == project.root / "solutions"
        chapter = chapters.get(path.stem if lesson else path.parent.name)
        names = {exercise.name for exercise in chapter.exercises} if chapter else set()
        own = (
            {path.stem} if path.parent.parent == project.graders and path.suffix == ".py" else None
        )
        about = names if lesson else own
        if not about or not about <= names:
            return None
        found |= about | (bugs_judged_as(project, path) if own else set())
    return frozenset(found)


def bugs_judged_as(project: Project, grader: Path) -> set[str]:
    """Return the find-the-bug exercises that use the cases and tests of this grader file."""
    files = grader.parent.glob("*.py")
    return {path.stem for path in files if bug_in(path)[0] == grader.stem}
