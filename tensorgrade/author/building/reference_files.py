"""References and fingerprints of all chapters, exercise by exercise.

Unchanged exercises are read from the stored files; only the rest is built (parts.py). A small text
file records a digest of each exercise's sources, and one of each stored file.

Of all these files, git tracks only the fingerprints on public cases, because their pairs of
mistakes take minutes. A fresh clone builds everything except these pairs.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from ...attempts.pairs import Sources, read_sources, sources_path
from ...course import CourseError
from ...exchange.references import References, load_references, save_references
from ...folders import digest_of_files
from ...project import DRAWN_FROM, Project, digest_of_seed, made_from
from ...recognition.fingerprints import (
    Fingerprints,
    LazyFingerprints,
    as_text,
    fingerprints_path,
    load_fingerprints,
    read_text,
    write_text,
)
from ..mistakes import known
from ..recording.bugs import bugs_of
from ..recording.digests import part_digest
from ..recording.references import Recording
from .derived import Derived, text_file
from .parts import BuildOptions, Part, Prints, Tell, make_parts
from .same import as_json, same_fingerprints, same_references, same_values

PARTS, FILES = "parts", "files"  # keys of the record


class Side:
    """A chapter's references and fingerprints on disk, for graders (hidden) or for learners.

    digests: those of the files that the last build wrote. is_as_built: True if the files are still
    the same. References are read only then; fingerprints are read even if they are outdated.
    effects: the stored first effects of mistakes, by exercise; on public cases only.
    """

    def __init__(self, project: Project, chapter: str, hidden: bool, digests: dict[str, str]):
        self.project, self.chapter, self.hidden = project, chapter, hidden
        self.paths = reference_paths(project, chapter, hidden)
        found = file_digests(project, chapter, hidden)
        self.is_as_built = len(found) == len(self.paths) and found.items() <= digests.items()
        self.fingerprints, self.references = Fingerprints(), References(chapter, hidden, ())
        with suppress(CourseError):
            self.fingerprints = load_fingerprints(self.paths[1])
        if self.is_as_built:
            with suppress(CourseError):  # in an older format
                self.references = load_references(self.paths[0])
        self.effects: dict[str, dict[str, dict]] = {}
        if not hidden:
            with suppress(CourseError):
                self.effects = read_sources(sources_of(project, chapter)).effects

    def has(self, exercise: str) -> bool:
        """Return True if fingerprints and references hold an exercise, as a build wrote it."""
        there = exercise in self.fingerprints.by_exercise and self.references.of(exercise)
        return bool(there) and (self.hidden or exercise in self.effects)

    def prints(self, exercise: str) -> Prints | None:
        """Return an exercise's stored fingerprints, or None if there are none."""
        if exercise not in self.fingerprints.by_exercise:
            return None
        pairs = self.fingerprints.pairs.get(exercise, "")
        return Prints(self.fingerprints.form_of(exercise), pairs, self.effects.get(exercise, {}))

    def files(self, made: dict[str, tuple[References, Prints]]) -> list[Derived]:
        """Return the chapter's references, fingerprints and sources as derived files.

        made: what was built, by exercise. Other exercises are taken from the stored files.
        """
        own = [exercise.name for exercise in self.project.course.chapter(self.chapter).exercises]
        parts = {
            name: made.get(name) or (self.references.only(name), self.prints(name))
            for name in own
            if name in made or self.has(name)
        }
        entries = tuple(entry for references, _ in parts.values() for entry in references.entries)
        traces = {case: trace for one, _ in parts.values() for case, trace in one.traces.items()}
        bugs = bugs_of(self.project, self.chapter)
        references = References(self.chapter, self.hidden, entries, traces, bugs)
        prints = {name: one for name, (_, one) in parts.items() if one}
        fingerprints = Fingerprints(
            LazyFingerprints({name: one.form for name, one in prints.items()}),
            self.messages(list(parts)),
            {} if self.hidden else {name: one.pairs for name, one in prints.items()},
            {name: priced for name in parts if (priced := prices(self.project, name))},
        )
        ids, before = ([case.id for case, _ in e] for e in (entries, self.references.entries))
        is_taken = not made and ids == before and bugs == self.references.bugs
        return [
            references_file(self.paths[0], references, is_taken),
            fingerprints_file(self.paths[1], self.fingerprints, fingerprints),
            *([] if self.hidden else [sources_file(self.project, self.chapter, prints)]),
        ]

    def messages(self, exercises: list[str]) -> dict[str, str]:
        """Return the messages of the mistakes in some exercises, by the mistakes' names."""
        return {one.name: one.message for name in exercises for one in known(self.project, name)}


def prices(project: Project, exercise: str) -> dict[str, float]:
    """Return the share of an exercise that each mistake costs for which its author sets one."""
    return {one.name: one.price for one in known(project, exercise) if one.price is not None}


def reference_files(project: Project, options: BuildOptions, tell: Tell) -> Iterator[Derived]:
    """Yield the reference files of the requested chapters, each chapter as soon as it is built.

    A build that is interrupted therefore keeps the chapters that it has written. Raise CourseError
    with one line for each problem if something cannot be built.
    """
    build = ReferenceBuild(project, options)
    due = build.due()
    left = Counter(part.chapter for part in due)
    for chapter in build.chapters:
        if not left[chapter]:
            yield from build.files(chapter)
    wrong: list[str] = []
    stored = {part: build.side(part).prints(part.exercise) for part in due}
    for part, made in make_parts(project, due, stored, options, tell) if due else ():
        left[part.chapter] -= 1
        if isinstance(made, str):
            wrong.append(made)
            left[part.chapter] = -1  # so that this chapter is never finished
        else:
            build.made[part] = due[part].references, made
        if not left[part.chapter]:
            yield from build.files(part.chapter)
    if wrong:
        raise CourseError("\n".join(dict.fromkeys(wrong)))
    yield build.last_file()


class ReferenceBuild:
    """A build of references while it runs.

    recordings: the requested parts. digests: a digest of the sources of each. made: the parts that
    are built. record: see `read_record`.
    """

    def __init__(self, project: Project, options: BuildOptions):
        self.project, self.options, self.record = project, options, read_record(project)
        chapters = filter(options.is_about, project.course.chapters)
        self.chapters = {chapter.name: chapter for chapter in chapters}
        self.sides = {
            (name, hidden): Side(project, name, hidden, self.record[FILES])
            for name in self.chapters
            for hidden in (True, False)
        }
        self.recordings = {p: p.recording(project) for p in all_parts(project) if self.is_asked(p)}
        self.digests = {part: part_digest(one) for part, one in self.recordings.items()}
        self.made: dict[Part, tuple[References, Prints]] = {}

    def side(self, part: Part) -> Side:
        """Return the stored files that a part belongs in."""
        return self.sides[part.chapter, part.hidden]

    def is_asked(self, part: Part) -> bool:
        """Return True if a part is requested, or is in a file that differs from the built one."""
        if part.chapter not in self.chapters:
            return False
        asked = self.options.exercises
        return not asked or part.exercise in asked or not self.side(part).is_as_built

    def due(self) -> dict[Part, Recording]:
        """Return the requested parts that are missing, outdated or to be built again."""
        return {part: one for part, one in self.recordings.items() if self.is_due(part)}

    def is_due(self, part: Part) -> bool:
        """Return True if a part has to be built."""
        side = self.side(part)
        is_current = side.has(part.exercise) and self.record[PARTS].get(part.key)
        if self.options.anew or is_current != self.digests[part]:
            return True
        has_pairs = part.hidden or side.fingerprints.pairs.get(part.exercise)
        return self.options.pairs and not has_pairs

    def files(self, chapter: str) -> Iterator[Derived]:
        """Yield a finished chapter's files, and the record with this chapter."""
        for hidden in (True, False):
            side = (chapter, hidden)
            made = {
                part.exercise: one
                for part, one in self.made.items()
                if (part.chapter, part.hidden) == side
            }
            yield from self.sides[side].files(made)
        digests = {part.key: one for part, one in self.digests.items() if part.chapter == chapter}
        self.record[PARTS] |= digests
        for hidden in (True, False):  # the caller has written the stale files by now
            self.record[FILES] |= file_digests(self.project, chapter, hidden)
        yield self.record_file()

    def last_file(self) -> Derived:
        """Return the record of the whole build.

        It gets the current seed's digest only after a build of everything, because only that draws
        all hidden cases again.
        """
        seed = digest_of_seed(self.project.course)
        if not self.options.exercises or not self.record.get(DRAWN_FROM):
            self.record[DRAWN_FROM] = seed
        keys = {part.key for part in all_parts(self.project)}
        self.record[PARTS] = {k: one for k, one in sorted(self.record[PARTS].items()) if k in keys}
        return self.record_file()

    def record_file(self) -> Derived:
        """Return the record so far as a file.

        `build --check` compares only the seed: on another processor, the last digits of the cases'
        numbers differ, and with them the digests.
        """
        path, seed = made_from(self.project.graders), self.record.get(DRAWN_FROM)
        file = text_file(path, json.dumps(self.record, indent=1) + "\n")
        if self.options.anew:
            return replace(file, fresh=lambda: read_record(self.project).get(DRAWN_FROM) == seed)
        return file


def read_record(project: Project) -> dict:
    """Return the record of the last build, by the kind of entry.

    The entries are digests of each part's sources, of each stored file, and of the seed. A missing
    kind, as in records of older versions, is empty or None.
    """
    path = made_from(project.graders)
    told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {
        DRAWN_FROM: told.get(DRAWN_FROM),
        PARTS: told.get(PARTS, {}),
        FILES: told.get(FILES, {}),
    }


def file_digests(project: Project, chapter: str, hidden: bool) -> dict[str, str]:
    """Return a digest of each of a chapter's stored files, by its path in the course."""
    paths = reference_paths(project, chapter, hidden)
    names = {path.relative_to(project.root).as_posix(): path for path in paths if path.exists()}
    return {name: digest_of_files({name: path}) for name, path in names.items()}


def all_parts(project: Project) -> list[Part]:
    """Return all parts of a course."""
    return [
        Part(chapter.name, exercise.name, hidden)
        for chapter in project.course.chapters
        for exercise in chapter.exercises
        for hidden in (True, False)
    ]


def without_pairs(project: Project) -> list[str]:
    """Return the exercises whose stored fingerprints lack pairs of mistakes."""
    there: set[str] = set()
    for chapter in project.course.chapters:
        _, path = reference_paths(project, chapter.name, hidden=False)
        with suppress(CourseError):
            there |= {name for name, digest in load_fingerprints(path).pairs.items() if digest}
    return [name for name in project.course.exercise_names if name not in there]


def reference_paths(project: Project, chapter: str, hidden: bool) -> tuple[Path, Path]:
    """Return the paths of a chapter's references and fingerprints."""
    folder = (project.graders if hidden else project.exercises) / "references"
    return folder / f"{chapter}.safetensors", fingerprints_path(folder, chapter)


def sources_of(project: Project, chapter: str) -> Path:
    """Return the path of a chapter's solution and mistakes for grading."""
    return sources_path(project.graders / "references", chapter)


def sources_file(project: Project, chapter: str, prints: dict[str, Prints]) -> Derived:
    """Return the file with the solution and with the edits and first effects of its mistakes.

    Grading makes pairs of mistakes from it, and finds the lines of mistakes.
    """
    edits = {
        exercise.name: {one.name: one.edits for one in known(project, exercise.name)}
        for exercise in project.course.chapter(chapter).exercises
    }
    text = project.solution(chapter).read_text(encoding="utf-8")
    effects = {name: one.effects for name, one in prints.items()}
    built = asdict(Sources(text, edits, effects))
    path = sources_of(project, chapter)
    return Derived(
        path,
        lambda: write_text(path, json.dumps(built)),
        lambda: is_stored(lambda: same_values(asdict(read_sources(path)), as_json(built))),
    )


def references_file(path: Path, references: References, is_taken: bool) -> Derived:
    """Return a chapter's references as a file. is_taken: they are exactly the stored ones."""
    return Derived(
        path,
        lambda: save_references(path, references),
        lambda: is_taken or is_stored(lambda: same_references(load_references(path), references)),
    )


def fingerprints_file(path: Path, stored: Fingerprints, fingerprints: Fingerprints) -> Derived:
    """Return a chapter's fingerprints as a text file. stored: those on disk before the build."""
    text = as_text(fingerprints)
    return Derived(
        path,
        lambda: write_text(path, text),
        lambda: is_stored(
            lambda: read_text(path) == text or same_fingerprints(stored, fingerprints)
        ),
    )


def is_stored(compare: Callable[[], bool]) -> bool:
    """Return the result of a comparison with a stored file.

    A missing file, or one in an older format, counts as different.
    """
    try:
        return compare()
    except CourseError:
        return False
