"""Everything that is derived, in one place: file by file, to be written or to be compared."""

import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from ..course import Chapter, Course
from ..fingerprints import Fingerprints, load_fingerprints, save_fingerprints
from ..project import Project
from ..references import References, load_references, made_from, save_references
from .references import build_chapter, origin
from .same import same_fingerprints, same_references, same_text
from .script import read_script
from .stubs import stub_text


@dataclass(frozen=True)
class Derived:
    """One generated file: how it is written, and how the written one is compared with it."""

    path: Path
    write: Callable[[], None]
    fresh: Callable[[], bool]


def derive(project: Project, anew: bool = False) -> list[Derived]:
    """All derived files of a course, with their contents already made (all of it, if `anew`)."""
    course = with_hints(project)
    files = [text_file(project.exercises / "course.json", course.public_json())]
    for chapter in course.chapters:
        script = read_script(project.solution(chapter.name))
        files.append(text_file(project.exercises / f"{chapter.name}.py", stub_text(script)))
    return files + all_reference_files(project, anew) + notebook_files(project, course)


def notebook_files(project: Project, course: Course) -> list[Derived]:
    """Notebooks of all chapters for instructors and learners, and the checks beside them."""
    from .handouts import handout_files

    scripts = {chapter: read_script(project.solution(chapter.name)) for chapter in course.chapters}
    return [file for chapter, script in scripts.items() for file in handout_files(project, chapter, script)]


def all_reference_files(project: Project, anew: bool) -> list[Derived]:
    """References and fingerprints of all chapters; the largest first, side by side on all cores.

    Where nothing that they are made from has changed they are taken as they are, unless `anew`.
    """
    names = [chapter.name for chapter in reversed(project.course.chapters)]
    jobs = [(name, hidden) for name in names for hidden in (True, False)]
    places = [reference_paths(project, *job) for job in jobs]
    current = [not anew and made_from(place[0]) == origin(project, job[0]) for job, place in zip(jobs, places)]
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        futures = {
            place: pool.submit(build_chapter, str(project.root), *job)
            for job, place, kept in zip(jobs, places, current)
            if not kept
        }
        files = [reference_files(place, *future.result()) for place, future in futures.items()]
    files += [[as_it_is(path) for path in place] for place, kept in zip(places, current) if kept]
    return [file for pair in files for file in pair]


def reference_paths(project: Project, chapter: str, hidden: bool) -> tuple[Path, Path]:
    """Where a chapter's references and its fingerprints are stored."""
    folder = (project.graders if hidden else project.exercises) / "references"
    return folder / f"{chapter}.safetensors", folder / f"{chapter}.fingerprints.json"


def as_it_is(path: Path) -> Derived:
    """A derived file that is current already."""
    return Derived(path, lambda: None, path.exists)


def with_hints(project: Project) -> Course:
    """The course with each exercise's hints, which stand in the chapters' sources."""
    course = project.course
    return replace(course, chapters=tuple(chapter_with_hints(project, c) for c in course.chapters))


def chapter_with_hints(project: Project, chapter: Chapter) -> Chapter:
    hints = read_script(project.solution(chapter.name)).hints
    exercises = (replace(e, hints=hints.get(e.name, ())) for e in chapter.exercises)
    return replace(chapter, exercises=tuple(exercises))


def text_file(path: Path, text: str) -> Derived:
    """A derived file of text."""
    return Derived(path, lambda: write_text(path, text), lambda: same_text(path, text))


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def reference_files(place: tuple[Path, Path], references: References, fingerprints: Fingerprints) -> list[Derived]:
    """A chapter's references and fingerprints as two derived files."""
    stored, prints = place
    return [
        Derived(
            stored,
            lambda: save_references(stored, references),
            lambda: stored.exists() and same_references(load_references(stored), references),
        ),
        Derived(
            prints,
            lambda: save_fingerprints(prints, fingerprints),
            lambda: prints.exists() and same_fingerprints(load_fingerprints(prints), fingerprints),
        ),
    ]
