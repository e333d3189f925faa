"""What the last build proved, what has changed since then, and which exercises that is about.

It is kept in `.tensorgrade/` and told by the content of files. Nothing here imports torch: where
nothing has changed, a build ends before that is there.
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
Seen = dict[str, str]  # digests of files by their path, and versions by a package's name


@dataclass(frozen=True)
class Proved:
    """That every exercise is proved. seen: with what. pairs: whether there are pairs of mistakes.
    said: the build's last line. Empty where there was no such build.
    """

    seen: Seen = field(default_factory=dict)
    pairs: bool = False
    said: str = ""


def proved_before(root: Path) -> Proved:
    """What the last build proved that proved everything."""
    try:
        return Proved(**json.loads(Kept(root).text(PROVED)))
    except (ValueError, TypeError):  # there is none, or it is cut off
        return Proved()


def keep_proved(root: Path, proved: Proved) -> None:
    """Remember that everything is proved."""
    Kept(root).keep_text(PROVED, json.dumps(asdict(proved)))


def seen_now(root: Path) -> Seen:
    """All that a build of this course reads or writes, as it is now."""
    paths = [path for name in FOLDERS for path in files_below(root / name)]
    paths += root.glob("*_config.py")
    engine = {f"engine {path.relative_to(ENGINE)}": path for path in files_below(ENGINE)}
    found = {name: digest_of(path) for name, path in engine.items()} | seen_in(root, paths)
    return found | {"Python": sys.version} | {name: version_of(name) for name in PACKAGES}


def seen_in(root: Path, paths: Iterable[Path]) -> Seen:
    """Digests of some files of a course."""
    return {str(path.relative_to(root)): digest_of(path) for path in paths}


def digest_of(path: Path) -> str:
    """Changes when a file does."""
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


def version_of(package: str) -> str:
    """Which version of a package is installed; empty for none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def unproved(project: Project, proved: Proved, seen: Seen) -> frozenset[str] | None:
    """The exercises that are still to be proved, all else being proved; None where that may be all.

    seen: what is seen now.
    """
    names = {name for name, _ in proved.seen.items() ^ seen.items()}
    if not proved.said:
        return None
    return concerned(project, [project.root / name for name in names]) if names else frozenset()


def concerned(project: Project, changed: Iterable[Path]) -> frozenset[str] | None:
    """The exercises that these files are about; None where that may be all of them."""
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
    """The exercises whose bug is judged by the cases and tests in this grader file."""
    files = grader.parent.glob("*.py")
    return {path.stem for path in files if bug_in(path)[0] == grader.stem}
