"""All derived files of a course, each ready to be written or compared."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ...course import Chapter, Course
from ...judging.course_checks import FILE
from ...project import Project
from .derived import Derived, text_file, write_bytes
from .notebooks import notebook_text
from .parts import BuildOptions, Tell
from .reference_files import reference_files
from .script import Script, read_script, stub_text


def silent(what: str, done: int, total: int) -> None:
    """Report no progress."""


def derive(
    project: Project,
    options: BuildOptions = BuildOptions(),  # noqa: B008
    tell: Tell = silent,
) -> Iterator[Derived]:
    """Yield the derived files of a course, with their contents already made.

    Files of chapters that are not requested are left out. A file may depend on earlier ones, so a
    build writes each file before it asks for the next one.

    tell: a progress callback.
    """
    course = with_hints(project)
    yield text_file(project.exercises / "course.json", course.public_json())
    if (own := project.graders / FILE).exists():
        yield text_file(project.exercises / FILE, own.read_text(encoding="utf-8"))
    chapters = list(filter(options.is_about, course.chapters))
    scripts = {chapter.name: script_for_learners(project, chapter) for chapter in chapters}
    for name, script in scripts.items():
        yield text_file(project.exercises / f"{name}.py", stub_text(script))
    yield from reference_files(project, options, tell)
    for chapter in chapters:
        yield from handout_files(project, chapter, scripts[chapter.name])


def script_for_learners(project: Project, chapter: Chapter) -> Script:
    """Return the chapter's source with active exercises only."""
    names = [exercise.name for exercise in chapter.exercises]
    return read_script(project.solution(chapter.name)).of(names)


def with_hints(project: Project) -> Course:
    """Return the course with each exercise's hints, read from the chapters' sources."""
    chapters = []
    for chapter in project.course.chapters:
        script = read_script(project.solution(chapter.name))
        exercises = (replace(e, hints=script.hints.get(e.name, ())) for e in chapter.exercises)
        chapters.append(replace(chapter, exercises=tuple(exercises), ending=script.ending))
    return replace(project.course, chapters=tuple(chapters))


CHECKS = "checks.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)


def handout_files(project: Project, chapter: Chapter, script: Script) -> list[Derived]:
    """Return the instructor's notebook, of which nbgrader makes the learners' one, and the checks.

    nbgrader hands out every file next to a notebook. A fetched chapter can therefore check itself
    in any folder.
    """
    place = project.root / "source" / chapter.name
    return [
        text_file(place / f"{chapter.name}.ipynb", notebook_text(script, chapter)),
        checks_file(place / CHECKS, project.exercises, chapter.name),
    ]


def checks_file(path: Path, exercises: Path, chapter: str) -> Derived:
    """Return a zip file with a chapter's part of `exercises/`.

    The files are read only when the zip file is written or compared.
    """
    return Derived(
        path,
        lambda: write_bytes(path, zipped(checks_of(exercises, chapter))),
        lambda: path.exists() and read_zip(path) == checks_of(exercises, chapter),
    )


def checks_of(exercises: Path, chapter: str) -> dict[str, bytes]:
    """Return the files that a chapter's public checks need, by path, without any learner's file."""
    patterns = ("course.json", FILE, f"references/{chapter}.*")
    found = [
        path for pattern in (*patterns, f"given/{chapter}/*.py") for path in exercises.glob(pattern)
    ]
    return {str(p.relative_to(exercises.parent).as_posix()): p.read_bytes() for p in sorted(found)}


def zipped(files: dict[str, bytes]) -> bytes:
    """Return these files as the bytes of a zip file, which depend only on the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def read_zip(path: Path) -> dict[str, bytes]:
    """Return the files in a zip file, by name; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return {}
