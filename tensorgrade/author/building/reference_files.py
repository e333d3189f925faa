"""References and fingerprints of all chapters, exercise by exercise.

What nothing has changed for is taken from the stored files; only the rest is made. A small text
file says what each exercise's part was made from.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...course import Chapter, CourseError
from ...exchange.references import References, load_references, save_references
from ...processes import side_by_side
from ...project import Project
from ...recognition.fingerprints import (
    Fingerprint,
    Fingerprints,
    load_fingerprints,
    save_fingerprints,
)
from ..recording.origin import known, origin
from ..recording.references import build_exercise
from .derived import Derived, text_file
from .same import same_fingerprints, same_references


@dataclass(frozen=True)
class Part:
    """One exercise's part of a chapter's files, for graders (hidden) or for learners."""

    chapter: str
    exercise: str
    hidden: bool

    @property
    def key(self) -> str:
        """How the part is called where it is said what it was made from."""
        return f"{self.chapter}/{self.exercise}/{'hidden' if self.hidden else 'public'}"


Made = dict[Part, tuple[References, list[Fingerprint]]]


def all_reference_files(project: Project, anew: bool) -> list[Derived]:
    """References and fingerprints of all chapters, and what they were made from.

    anew: make everything, whether something has changed or not.
    """
    origins = {
        part: origin(project, part.chapter, part.exercise, part.hidden)
        for part in all_parts(project)
    }
    made: Made = {} if anew else dict(current_parts(project, origins))
    made |= build_parts(project, [part for part in origins if part not in made])
    files = [
        file
        for chapter in project.course.chapters
        for hidden in (True, False)
        for file in chapter_files(project, chapter, hidden, made)
    ]
    said = {part.key: digest for part, digest in origins.items()}
    text = json.dumps(dict(sorted(said.items())), indent=1) + "\n"
    return [*files, text_file(made_from(project), text)]


def all_parts(project: Project) -> list[Part]:
    """All parts of a course; the last exercises first, since they take longest."""
    return [
        Part(chapter.name, exercise.name, hidden)
        for chapter in reversed(project.course.chapters)
        for exercise in reversed(chapter.exercises)
        for hidden in (True, False)
    ]


def made_from(project: Project) -> Path:
    """Where it is said what each part was made from. Graders only: the hidden seed is in it."""
    return project.graders / "references" / "made_from.json"


def reference_paths(project: Project, chapter: str, hidden: bool) -> tuple[Path, Path]:
    """Where a chapter's references and its fingerprints are stored."""
    folder = (project.graders if hidden else project.exercises) / "references"
    return folder / f"{chapter}.safetensors", folder / f"{chapter}.fingerprints.json"


def current_parts(project: Project, origins: dict[Part, str]) -> Iterator[tuple[Part, tuple]]:
    """The stored parts that would be made from the same things today."""
    path = made_from(project)
    said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for chapter in project.course.chapters:
        for hidden in (True, False):
            stored, prints = reference_paths(project, chapter.name, hidden)
            try:
                references, fingerprints = load_references(stored), load_fingerprints(prints)
            except CourseError:
                continue
            for exercise in chapter.exercises:
                part = Part(chapter.name, exercise.name, hidden)
                if said.get(part.key) == origins[part] and references.of(exercise.name):
                    own = references.only(exercise.name)
                    yield part, (own, fingerprints.by_exercise[exercise.name])


def build_parts(project: Project, parts: list[Part]) -> Made:
    """Make parts, side by side on all cores."""
    if not parts:
        return {}
    with side_by_side() as pool:
        jobs = {
            part: pool.submit(
                build_exercise, str(project.root), part.chapter, part.exercise, part.hidden
            )
            for part in parts
        }
        return {part: job.result() for part, job in jobs.items()}


def chapter_files(project: Project, chapter: Chapter, hidden: bool, made: Made) -> list[Derived]:
    """A chapter's references and fingerprints as two derived files, put together from its parts."""
    stored, prints = reference_paths(project, chapter.name, hidden)
    names = [exercise.name for exercise in chapter.exercises]
    parts = {name: made[Part(chapter.name, name, hidden)] for name in names}
    entries = tuple(entry for references, _ in parts.values() for entry in references.entries)
    ways = {case: way for references, _ in parts.values() for case, way in references.ways.items()}
    references = References(chapter.name, hidden, entries, ways)
    messages = {m.name: m.message for name in names for m in known(project, name)}
    fingerprints = Fingerprints({name: found for name, (_, found) in parts.items()}, messages)
    return [
        Derived(
            stored,
            lambda: save_references(stored, references),
            lambda: is_stored(lambda: same_references(load_references(stored), references)),
        ),
        Derived(
            prints,
            lambda: save_fingerprints(prints, fingerprints),
            lambda: is_stored(lambda: same_fingerprints(load_fingerprints(prints), fingerprints)),
        ),
    ]


def is_stored(compare: Callable[[], bool]) -> bool:
    """What a comparison with the stored file says; a missing or an older file is another one."""
    try:
        return compare()
    except CourseError:
        return False
