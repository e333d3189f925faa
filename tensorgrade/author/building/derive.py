"""The derived files of a course that need no run: their paths and their contents."""

import io
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from ...course import Chapter, Course
from ...judging.course_checks import FILE
from ...project import Project
from .notebooks import notebook_text
from .script import Script, read_script, stub_text

CHECKS = "checks.zip"
EPOCH = (1980, 1, 1, 0, 0, 0)


def chapters_with(course: Course, only: Collection[str]) -> list[Chapter]:
    """Return the chapters with any of these exercises; all if there are no names."""
    return [c for c in course.chapters if not only or any(e.name in only for e in c.exercises)]


def learner_files(project: Project, course: Course) -> Iterator[tuple[Path, bytes]]:
    """Yield the learners' description of the course, and its own checks. course: with hints."""
    yield project.exercises / "course.json", course.public_json().encode()
    if (own := project.graders / FILE).exists():
        yield project.exercises / FILE, own.read_bytes()


def stub_of(project: Project, chapter: Chapter) -> bytes:
    """Return a chapter's stub."""
    return stub_text(script_for_learners(project, chapter)).encode()


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


def handout_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the instructor's notebook, of which nbgrader makes the learners' one, and the checks.

    nbgrader hands out every file next to a notebook. A fetched chapter can therefore check itself
    in any folder.
    """
    place = project.root / "source" / chapter.name
    script = script_for_learners(project, chapter)
    yield place / f"{chapter.name}.ipynb", notebook_text(script, chapter).encode()
    yield place / CHECKS, zipped(checks_of(project.exercises, chapter.name))


def checks_of(exercises: Path, chapter: str) -> dict[str, bytes]:
    """Return the files that a chapter's public checks need, by path, without any learner's file."""
    patterns = ("course.json", FILE, f"references/{chapter}/*")
    found = [
        path for pattern in (*patterns, f"given/{chapter}/*.py") for path in exercises.glob(pattern)
    ]
    return {str(p.relative_to(exercises.parent).as_posix()): p.read_bytes() for p in sorted(found)}


def zipped(files: dict[str, bytes]) -> bytes:
    """Return these files as the bytes of a zip file, which depend only on the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()
