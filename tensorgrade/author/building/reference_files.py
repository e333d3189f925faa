"""References and fingerprints of all chapters, exercise by exercise.

What nothing has changed for is taken from the stored files; only the rest is made
(made_parts.py). A small text file says what each exercise's part was made from.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

from ...course import Chapter, CourseError
from ...exchange.references import References, load_references, save_references
from ...project import Project
from ...recognition.fingerprints import (
    Fingerprints,
    ReadWhenAsked,
    as_text,
    load_fingerprints,
)
from ..recording.adopted import adopted_mistakes
from ..recording.bugs import bugs_of
from ..recording.origin import known
from ..recording.references import Recording
from .derived import Derived, text_file, write_text
from .made_parts import Made, Part, Tell, Wish, make_parts
from .same import same_cases, same_fingerprints, same_references, same_text

ORIGINS = ("from", "pairs", "solution")  # what of a part was made from what


def all_reference_files(project: Project, wish: Wish, tell: Tell) -> list[Derived]:
    """References and fingerprints of the chapters that a wish is about, and what all are made from.

    Raises CourseError, with a line for everything that is wrong, where something cannot be made.
    """
    chapters = list(filter(wish.is_about, project.course.chapters))
    stored, parts = Stored(project, chapters), all_parts(project)
    names = {chapter.name for chapter in chapters}
    recordings = {part: part.recording(project) for part in parts if part.chapter in names}
    todo = {p: r for p, r in recordings.items() if is_due(r, stored.parts.get(p), wish)}
    made = stored.parts | make_parts(project, todo, stored.parts, wish, tell)
    made = {part: made[part] for part in recordings if part in made}
    files = [
        file
        for chapter in chapters
        for hidden in (True, False)
        for file in chapter_files(project, stored, chapter, hidden, made)
    ]
    others, before = [part for part in parts if part.chapter not in names], what_is_said(project)
    said = {part.key: before[part.key] for part in others if part.key in before}
    for part, one in made.items():
        origins = one.origin, one.pairs, one.solution
        said[part.key] = dict(zip(ORIGINS, origins, strict=True))
    text = json.dumps(dict(sorted(said.items())), indent=1) + "\n"
    return [*files, text_file(made_from(project), text)]


def is_due(recording: Recording, stored: Made | None, wish: Wish) -> bool:
    """Whether a part is to be made: it is asked for, and what is stored is not what would be."""
    if wish.exercises and recording.exercise not in wish.exercises:
        return False
    if wish.anew or stored is None or stored.origin != recording.origin:
        return True
    if not same_cases([case for case, _ in stored.references.entries], recording.cases):
        return True
    return wish.pairs and not stored.pairs


def all_parts(project: Project) -> list[Part]:
    """All parts of a course; the last exercises first, since they take longest."""
    return [
        Part(chapter.name, exercise.name, hidden)
        for chapter in reversed(project.course.chapters)
        for exercise in reversed(chapter.exercises)
        for hidden in (True, False)
    ]


def without_pairs(project: Project) -> list[str]:
    """The exercises of which pairs of mistakes are still to be made, as far as is stored."""
    said, parts = what_is_said(project), all_parts(project)
    lacking = [part.exercise for part in parts if not said.get(part.key, {}).get("pairs")]
    return list(dict.fromkeys(lacking))


def made_from(project: Project) -> Path:
    """Where it is said what each part was made from. Graders only: hidden cases are in it."""
    return project.graders / "references" / "made_from.json"


def what_is_said(project: Project) -> dict[str, dict]:
    """What the stored parts were made from; nothing where that was said in an older form."""
    path = made_from(project)
    said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {key: told for key, told in said.items() if isinstance(told, dict)}


def reference_paths(project: Project, chapter: str, hidden: bool) -> tuple[Path, Path]:
    """Where a chapter's references and its fingerprints are stored."""
    folder = (project.graders if hidden else project.exercises) / "references"
    return folder / f"{chapter}.safetensors", folder / f"{chapter}.fingerprints.json"


class Stored:
    """What the stored files of some chapters hold, in parts, whatever it was made from.

    chapters: the files themselves, by chapter and whether they are hidden.
    """

    def __init__(self, project: Project, chapters: Iterable[Chapter]):
        self.parts: dict[Part, Made] = {}
        self.chapters: dict[tuple[str, bool], tuple[References, Fingerprints]] = {}
        said = what_is_said(project)
        for chapter in chapters:
            for hidden in (True, False):
                stored, prints = reference_paths(project, chapter.name, hidden)
                try:
                    pair = load_references(stored), load_fingerprints(prints)
                except CourseError:
                    continue
                self.chapters[chapter.name, hidden] = pair
                self.take(chapter, hidden, *pair, said)

    def take(
        self,
        chapter: Chapter,
        hidden: bool,
        references: References,
        fingerprints: Fingerprints,
        said: dict[str, dict],
    ) -> None:
        """A chapter's files in parts."""
        for exercise in chapter.exercises:
            part = Part(chapter.name, exercise.name, hidden)
            told, entries = said.get(part.key), tuple(references.of(exercise.name))
            if told and entries and exercise.name in fingerprints.by_exercise:
                own = references.only(exercise.name)
                form = partial(fingerprints.form_of, exercise.name)
                origins = (told.get(name, "") for name in ORIGINS)
                self.parts[part] = Made(own, form, *origins)


def chapter_files(
    project: Project, stored: Stored, chapter: Chapter, hidden: bool, made: dict[Part, Made]
) -> list[Derived]:
    """A chapter's references and fingerprints as two derived files, put together from its parts."""
    paths = reference_paths(project, chapter.name, hidden)
    parts = {part.exercise: one for part, one in made.items() if part.is_of(chapter.name, hidden)}
    names = [exercise.name for exercise in chapter.exercises if exercise.name in parts]
    entries = tuple(entry for name in names for entry in parts[name].references.entries)
    ways = {case: way for name in names for case, way in parts[name].references.ways.items()}
    bugs = bugs_of(project, chapter.name)
    references = References(chapter.name, hidden, entries, ways, bugs)
    messages = {m.name: m.message for name in names for m in known(project, name)}
    for name in names:
        messages |= {m.name: m.message for m in adopted_mistakes(project, chapter.name, name)}
    built = cache(
        lambda: Fingerprints(ReadWhenAsked({n: parts[n].form() for n in names}), messages)
    )
    there = stored.chapters.get((chapter.name, hidden))
    if there is None or there[0].bugs != bugs or not all(parts[n].stored for n in names):
        return [references_file(paths[0], references), fingerprints_file(paths[1], there, built)]
    # Parts that come out of the stored files need no comparison with these.
    taken = len(there[0].entries) == len(entries), are_all(there[1], names, messages)
    return [
        references_file(paths[0], references, taken[0]),
        fingerprints_file(paths[1], there, built, taken[1]),
    ]


def references_file(path: Path, references: References, taken: bool = False) -> Derived:
    """A chapter's references. taken: all of them, and no others, come out of the stored file."""
    return Derived(
        path,
        lambda: save_references(path, references),
        lambda: taken or is_stored(lambda: same_references(load_references(path), references)),
    )


def fingerprints_file(
    path: Path,
    there: tuple[References, Fingerprints] | None,
    built: Callable[[], Fingerprints],
    taken: bool = False,
) -> Derived:
    """A chapter's fingerprints, as text. there: what is stored. taken: they are all from there."""
    text = cache(lambda: as_text(built()))
    return Derived(
        path,
        lambda: write_text(path, text()),
        lambda: (
            taken
            or same_text(path, text())  # soon told: most are what was just written
            or (there is not None and same_fingerprints(there[1], built()))
        ),
    )


def are_all(stored: Fingerprints, names: list[str], messages: dict[str, str]) -> bool:
    """Whether stored fingerprints are those of these exercises, with these messages."""
    return stored.by_exercise.keys() == set(names) and stored.messages == messages


def is_stored(compare: Callable[[], bool]) -> bool:
    """What a comparison with the stored file says; a missing or an older file is another one."""
    try:
        return compare()
    except CourseError:
        return False
