"""A chapter's notebooks and what travels with them: derived files for `source/` and `release/`."""

import zipfile
from pathlib import Path

from ..course import Chapter
from ..project import Project
from .derive import Derived, text_file
from .notebooks import notebook_text
from .releases import release_text
from .script import Script

CHECKS = "checks.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)


def handout_files(project: Project, chapter: Chapter, script: Script) -> list[Derived]:
    """The instructor's notebook, the released one, and the visible checks beside each of them.

    nbgrader hands out whatever stands beside a notebook, so a fetched chapter can check itself
    wherever it lies.
    """
    notebook = notebook_text(script, chapter)
    released = release_text(project.root, chapter.name, notebook)
    files = []
    for folder, text in (("source", notebook), ("release", released)):
        place = project.root / folder / chapter.name
        files.append(text_file(place / f"{chapter.name}.ipynb", text))
        files.append(checks_file(place / CHECKS, project.exercises, chapter.name))
    return files


def checks_file(path: Path, exercises: Path, chapter: str) -> Derived:
    """A zip file with a chapter's part of `exercises/`; read when it is written or compared."""
    return Derived(
        path,
        lambda: write_zip(path, checks_of(exercises, chapter)),
        lambda: path.exists() and read_zip(path) == checks_of(exercises, chapter),
    )


def checks_of(exercises: Path, chapter: str) -> dict[str, bytes]:
    """What the visible checks of a chapter need, by path; no learner's file is among it."""
    found = [
        exercises / "course.json",
        exercises / f"test_{chapter}.py",
        *exercises.glob(f"references/{chapter}.*"),
        *exercises.glob(f"given/{chapter}/*.py"),
    ]
    return {str(p.relative_to(exercises.parent).as_posix()): p.read_bytes() for p in sorted(found)}


def write_zip(path: Path, files: dict[str, bytes]) -> None:
    """Write a zip file whose bytes depend on nothing but the files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)


def read_zip(path: Path) -> dict[str, bytes]:
    """The files in a zip file, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
