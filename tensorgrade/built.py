"""Digests of the files behind each built chapter. Grading refuses references older than these."""

import json
from collections.abc import Collection
from pathlib import Path

import msgspec
import torch

from .course import Course, CourseError
from .folders import digest_of_files

RECORDING = 6  # raise it if the engine records other results for the same code and cases


def built_path(graders: Path) -> Path:
    """Return the path of the digests of the sources of each built chapter."""
    return graders / "references" / "built.json"


def sources_of(root: Path, course: Course, chapter: str) -> str:
    """Return a digest of the files that a chapter's references are made of, and of the seed."""
    patterns = {
        "graders": ("*.py", f"{chapter}/*.py"),
        "solutions": (f"{chapter}.py",),
        "exercises": (f"given/{chapter}/*.py",),
    }
    found = [
        path for name, some in patterns.items() for one in some for path in (root / name).glob(one)
    ]
    files = {str(path.relative_to(root)): path for path in sorted(found)}
    return digest_of_files(files, str(course.seed), torch.__version__, str(RECORDING))


def read_built(graders: Path) -> dict[str, str]:
    """Return the digests of the last build, by chapter; {} if it left none that can be read."""
    try:
        return msgspec.json.decode(built_path(graders).read_bytes(), type=dict[str, str])
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
    there = [name for name in chapters if (built_path(graders).parent / name).is_dir()]
    changed = [name for name in there if built.get(name) != sources_of(root, course, name)]
    if changed:
        raise CourseError(
            f"changed since the last build: {', '.join(sorted(changed))}. The references are still "
            "the earlier ones, or drawn from another seed; run `tensorgrade build` first"
        )


def with_chapters(graders: Path, digests: dict[str, str]) -> bytes:
    """Return the content of the file of digests after these chapters were built."""
    return json.dumps(read_built(graders) | digests, indent=1, sort_keys=True).encode()
