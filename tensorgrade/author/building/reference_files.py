"""References and fingerprints of all chapters, exercise by exercise.

Unchanged exercises are read from the stored files; only the rest is built (made_parts.py). A small
text file records the digests of each exercise's sources.

Of all these files, git tracks only the fingerprints on public cases, because their pairs of
mistakes take minutes. A fresh clone builds everything except these pairs.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

from ...attempts.pairs import sources_path
from ...course import Chapter, CourseError
from ...exchange.references import References, load_references, save_references
from ...project import DRAWN_FROM, Project, digest_of_seed, made_from
from ...recognition.fingerprints import (
    Fingerprints,
    ReadWhenAsked,
    as_text,
    fingerprints_path,
    load_fingerprints,
    read_text,
    write_text,
)
from ..recording.adopted import adopted_mistakes
from ..recording.bugs import bugs_of
from ..recording.origin import known
from ..recording.references import Recording
from .derived import Derived, text_file
from .made_parts import Made, Part, Prints, Tell, Wish, make_parts
from .same import same_cases, same_fingerprints, same_references

ORIGINS = ("from", "solution")  # keys of a part's digests: all its sources, and those without cases


def all_reference_files(project: Project, wish: Wish, tell: Tell) -> list[Derived]:
    """Return the reference files of the requested chapters, and the file with all origins.

    Raise CourseError with one line for each problem if something cannot be built.
    """
    chapters = list(filter(wish.is_about, project.course.chapters))
    stored, parts = Stored(project, chapters), all_parts(project)
    names = {chapter.name for chapter in chapters}
    recordings = {part: part.recording(project) for part in parts if part.chapter in names}
    todo = {p: r for p, r in recordings.items() if is_due(r, stored.parts.get(p), wish)}
    made = stored.parts | make_parts(project, todo, stored.parts, stored.prints, wish, tell)
    made = {part: made[part] for part in recordings if part in made}
    files = [
        file
        for chapter in chapters
        for hidden in (True, False)
        for file in chapter_files(project, stored, chapter, hidden, made)
    ]
    files += [sources_file(project, chapter) for chapter in chapters]
    others, before = [part for part in parts if part.chapter not in names], what_is_said(project)
    said = {part.key: before[part.key] for part in others if part.key in before}
    for part, one in made.items():
        said[part.key] = dict(zip(ORIGINS, (one.origin, one.solution), strict=True))
    # Only a build of everything draws all hidden cases from a new seed.
    seed = seed_before(project) if wish.exercises else digest_of_seed(project.course)
    told = {DRAWN_FROM: seed} | dict(sorted(said.items()))
    return [*files, text_file(made_from(project.graders), json.dumps(told, indent=1) + "\n")]


def is_due(recording: Recording, stored: Made | None, wish: Wish) -> bool:
    """Return True if a part has to be built: it is requested, and outdated or missing."""
    if wish.exercises and recording.exercise not in wish.exercises:
        return False
    if wish.anew or stored is None or stored.origin != recording.origin:
        return True
    if not same_cases([case for case, _ in stored.references.entries], recording.cases):
        return True
    return wish.pairs and not (recording.hidden or stored.prints.pairs)


def all_parts(project: Project) -> list[Part]:
    """Return all parts of a course. The last exercises come first, because they take longest."""
    return [
        Part(chapter.name, exercise.name, hidden)
        for chapter in reversed(project.course.chapters)
        for exercise in reversed(chapter.exercises)
        for hidden in (True, False)
    ]


def without_pairs(project: Project) -> list[str]:
    """Return the exercises whose stored fingerprints lack pairs of mistakes."""
    there: set[str] = set()
    for chapter in project.course.chapters:
        _, path = reference_paths(project, chapter.name, hidden=False)
        with suppress(CourseError):
            there |= {name for name, origin in load_fingerprints(path).pairs.items() if origin}
    public = [part.exercise for part in all_parts(project) if not part.hidden]
    return [name for name in public if name not in there]


def seed_before(project: Project) -> str:
    """Return the digest of the seed that the last build of everything used; today's if unknown."""
    path = made_from(project.graders)
    said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return said.get(DRAWN_FROM) or digest_of_seed(project.course)


def what_is_said(project: Project) -> dict[str, dict]:
    """Return the stored origins of the parts. Entries in an older format are skipped."""
    path = made_from(project.graders)
    said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {key: told for key, told in said.items() if isinstance(told, dict)}


def reference_paths(project: Project, chapter: str, hidden: bool) -> tuple[Path, Path]:
    """Return the paths of a chapter's references and fingerprints."""
    folder = (project.graders if hidden else project.exercises) / "references"
    return folder / f"{chapter}.safetensors", fingerprints_path(folder, chapter)


class Stored:
    """The contents of some chapters' stored files, split into parts, even if they are outdated.

    references, fingerprints: the whole files, by chapter and by whether they are hidden.
    """

    def __init__(self, project: Project, chapters: Iterable[Chapter]):
        self.parts: dict[Part, Made] = {}
        self.prints: dict[Part, Prints] = {}
        self.references: dict[tuple[str, bool], References] = {}
        self.fingerprints: dict[tuple[str, bool], Fingerprints] = {}
        said = what_is_said(project)
        for chapter in chapters:
            for hidden in (True, False):
                stored, prints = reference_paths(project, chapter.name, hidden)
                with suppress(CourseError):
                    self.take_prints(chapter, hidden, load_fingerprints(prints))
                with suppress(CourseError):
                    self.take(chapter, hidden, load_references(stored), said)

    def take_prints(self, chapter: Chapter, hidden: bool, fingerprints: Fingerprints) -> None:
        """Split a chapter's fingerprints into parts."""
        self.fingerprints[chapter.name, hidden] = fingerprints
        for name in fingerprints.by_exercise:
            form, pairs = partial(fingerprints.form_of, name), fingerprints.pairs.get(name, "")
            self.prints[Part(chapter.name, name, hidden)] = Prints(form, pairs)

    def take(
        self, chapter: Chapter, hidden: bool, references: References, said: dict[str, dict]
    ) -> None:
        """Split a chapter's references into parts, skipping parts without fingerprints."""
        self.references[chapter.name, hidden] = references
        for exercise in chapter.exercises:
            part = Part(chapter.name, exercise.name, hidden)
            told, own = said.get(part.key), references.only(exercise.name)
            if told and own.entries and part in self.prints:
                origins = (told.get(name, "") for name in ORIGINS)
                self.parts[part] = Made(own, self.prints[part], *origins)


def chapter_files(
    project: Project, stored: Stored, chapter: Chapter, hidden: bool, made: dict[Part, Made]
) -> list[Derived]:
    """Combine a chapter's parts into two derived files: references and fingerprints."""
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
    pairs = {name: parts[name].prints.pairs for name in names if not hidden}
    forms = {name: parts[name].prints.form for name in names}
    built = cache(
        lambda: Fingerprints(
            ReadWhenAsked({name: form() for name, form in forms.items()}), messages, pairs
        )
    )
    key = (chapter.name, hidden)
    there, prints = stored.references.get(key), stored.fingerprints.get(key)
    if there is None or prints is None or not all(parts[n].stored for n in names):
        return [references_file(paths[0], references), fingerprints_file(paths[1], prints, built)]
    # Parts that were read from the stored files need no comparison with them.
    taken = len(there.entries) == len(entries) and there.bugs == bugs
    return [
        references_file(paths[0], references, taken),
        fingerprints_file(paths[1], prints, built, are_all(prints, names, messages)),
    ]


def sources_file(project: Project, chapter: Chapter) -> Derived:
    """Return the file that grading makes pairs of mistakes from: the solution, and the edits."""
    edits = {
        exercise.name: {one.name: one.edits[exercise.name] for one in known(project, exercise.name)}
        for exercise in chapter.exercises
    }
    text = project.solution(chapter.name).read_text(encoding="utf-8")
    path = sources_path(project.graders / "references", chapter.name)
    return text_file(path, json.dumps({"text": text, "edits": edits}, indent=1) + "\n")


def references_file(path: Path, references: References, taken: bool = False) -> Derived:
    """Return a chapter's references as a file. taken: they are exactly the stored ones."""
    return Derived(
        path,
        lambda: save_references(path, references),
        lambda: taken or is_stored(lambda: same_references(load_references(path), references)),
    )


def fingerprints_file(
    path: Path,
    there: Fingerprints | None,
    built: Callable[[], Fingerprints],
    taken: bool = False,
) -> Derived:
    """Return a chapter's fingerprints as a text file.

    there: the stored fingerprints. taken: all fingerprints were read from there.
    """
    text = cache(lambda: as_text(built()))
    return Derived(
        path,
        lambda: write_text(path, text()),
        lambda: (
            taken
            or is_stored(lambda: read_text(path) == text())  # true for a file that was just written
            or (there is not None and same_fingerprints(there, built()))
        ),
    )


def are_all(stored: Fingerprints, names: list[str], messages: dict[str, str]) -> bool:
    """Return True if the stored fingerprints have exactly these exercises and these messages."""
    return stored.by_exercise.keys() == set(names) and stored.messages == messages


def is_stored(compare: Callable[[], bool]) -> bool:
    """Return the result of a comparison with a stored file.

    A missing file, or one in an older format, counts as different.
    """
    try:
        return compare()
    except CourseError:
        return False
