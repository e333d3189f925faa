"""All derived files of a course, each ready to be written or compared."""

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from ...course import Chapter, Course
from ...folders import digest_of_files, engine_files
from ...judging.course_checks import FILE
from ...project import Project
from ..cache import cache, cached
from ..recording.bugs import mistake_given, shown
from .derived import Derived, text_file, write_bytes
from .learner_checks import learner_checks
from .notebooks import notebook_text, release_text
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
        checks = learner_checks(project, project.course.chapter(name))
        yield text_file(project.exercises / f"test_{name}.py", checks)
    yield from reference_files(project, options, tell)
    for chapter in chapters:
        yield from handout_files(
            project, chapter, scripts[chapter.name], use_cache=not options.anew
        )


def script_for_learners(project: Project, chapter: Chapter) -> Script:
    """Return the chapter's source with active exercises only, and with the given code of bugs."""
    names = [exercise.name for exercise in chapter.exercises]
    script = read_script(project.solution(chapter.name)).of(names)
    bugs = {name: mistake_given(project, chapter.name, name) for name in names}
    return script.given(
        {n: shown(script.exercises[n].source, n, bug) for n, bug in bugs.items() if bug}
    )


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


def handout_files(
    project: Project, chapter: Chapter, script: Script, use_cache: bool = False
) -> list[Derived]:
    """Return the instructor's notebook, the released one, and the public checks next to each.

    nbgrader hands out every file next to a notebook. A fetched chapter can therefore check itself
    in any folder.
    """
    notebook = notebook_text(script, chapter)
    made = cached_release if use_cache else release_text
    released = made(project.root, chapter.name, notebook)
    files = []
    for folder, text in (("source", notebook), ("release", released)):
        place = project.root / folder / chapter.name
        files.append(text_file(place / f"{chapter.name}.ipynb", text))
        files.append(checks_file(place / CHECKS, project.exercises, chapter.name))
    return files


def cached_release(root: Path, chapter: str, notebook: str) -> str:
    """Return the released notebook, from the cache if possible, because making it takes seconds."""
    settings = {path.name: path for path in sorted(root.glob("*_config.py"))}
    made_with = settings | engine_files("nbgrader_plugin")
    key = digest_of_files(made_with, notebook, version("nbgrader"))
    name = f"{chapter}/release.ipynb"
    text = cached(root, name, key)
    if text is None:
        text = release_text(root, chapter, notebook)
        cache(root, name, key, text)
    return text


def checks_file(path: Path, exercises: Path, chapter: str) -> Derived:
    """Return a zip file with a chapter's part of `exercises/`.

    The files are read only when the zip file is written or compared.
    """
    return Derived(
        path,
        lambda: write_bytes(path, zipped(tuple(checks_of(exercises, chapter).items()))),
        lambda: path.exists() and read_zip(path) == checks_of(exercises, chapter),
    )


def checks_of(exercises: Path, chapter: str) -> dict[str, bytes]:
    """Return the files that a chapter's public checks need, by path, without any learner's file."""
    patterns = ("course.json", FILE, f"test_{chapter}.py", f"references/{chapter}.*")
    found = [
        path for pattern in (*patterns, f"given/{chapter}/*.py") for path in exercises.glob(pattern)
    ]
    return {str(p.relative_to(exercises.parent).as_posix()): p.read_bytes() for p in sorted(found)}


@lru_cache(maxsize=1)  # the source and the release of a chapter have the same checks
def zipped(files: tuple[tuple[str, bytes], ...]) -> bytes:
    """Return these files as the bytes of a zip file, which depend only on the files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def read_zip(path: Path) -> dict[str, bytes]:
    """Return the files in a zip file, by name; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, EOFError):
        return {}
