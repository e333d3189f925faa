"""Digests of the files behind each built chapter. Grading refuses references older than these."""

from collections.abc import Collection
from pathlib import Path

import msgspec
import torch

from .course import Course, CourseError
from .folders import digest_of_files

BUILT = Path("references") / "built.json"  # in `graders/`: the digest of each built chapter
RECORDING = 8  # raise it if the engine records other results for the same code and cases


def sources_of(root: Path, course: Course, chapter: str) -> str:
    """Return a digest of the files that a chapter's references are made of, and of the seed."""
    patterns = ("graders/*.py", "graders/{}/*.py", "solutions/{}.py", "exercises/given/{}/*.py")
    found = sorted(path for one in patterns for path in root.glob(one.format(chapter)))
    files = {str(path.relative_to(root)): path for path in found}
    return digest_of_files(files, str(course.seed), torch.__version__, str(RECORDING))


def read_built(graders: Path) -> dict[str, str]:
    """Return the digests of the last build, by chapter; {} if it left none that can be read."""
    try:
        return msgspec.json.decode((graders / BUILT).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def refuse_unbuilt(graders: Path, course: Course, chapters: Collection[str]) -> None:
    """Raise CourseError if the files of these chapters changed since the last build.

    Without the course's solutions, as in a container, nothing is compared. References that are
    missing are reported when they are read.
    """
    root, built = graders.parent, read_built(graders)
    if not (root / "solutions").is_dir():
        return
    there = [name for name in chapters if (graders / "references" / name).is_dir()]
    changed = [name for name in there if built.get(name) != sources_of(root, course, name)]
    if changed:
        raise CourseError(
            f"changed since the last build: {', '.join(sorted(changed))}. The references are still "
            "the earlier ones, or drawn from another seed; run `tensorgrade build` first"
        )
