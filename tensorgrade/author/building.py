"""Build a course: the learners' files, and the recording of each exercise and side.

Each file is written only if its content changes. A recording is written as soon as it is made, so
an interrupted build keeps the finished ones.
"""

import gc
import json
import lzma
import multiprocessing
import os
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import track

from ..built import BUILT, read_built, sources_of
from ..course import Chapter, CourseError
from ..exchange.references import stored_form as stored_references
from ..exchange.stored import read_part, store
from ..exchange.stored_key import key_in
from ..folders import keep_copy, original_of, write_file
from ..judging.checks import FILE
from ..processes import side_by_side
from ..project import Project
from ..recognition.edits import EditError
from ..recognition.fingerprints import (
    Fingerprint,
    Known,
    Names,
    facts_of,
    matches,
    mistakes_path,
    read_prints,
    stored_form,
)
from .errors import course_errors
from .handouts import handout_files
from .lessons import lesson_of, stub_text
from .mistakes import known
from .recording import Imprints, Recording, recordings_of

WRITTEN = ("*_config.py", "solutions/**/*.py", "graders/**/*.py", "exercises/given/*/*.py")


def build(project: Project, names: Collection[str], pairs: bool, console: Console) -> bool:
    """Write the files that are missing or outdated. Return True if there was no error.

    names: build only these chapters, and those of these exercises; all if it is empty. pairs: False
    to leave out pairs of mistakes, which take minutes. console: gets a line for every file that was
    written, for every copy of answers that would have been lost, and for every error.
    """
    torch.set_num_threads(1)  # cases are small, and forking a process that has threads can hang
    gc.freeze()  # otherwise every garbage collection scans all imported modules
    files, said = Files(project, console), "✓ All derived files are fresh."
    try:
        course = project.course
        asked = [course.chapter_called(name) or course.exercise(name)[0] for name in names]
        chapters = [one for one in course.chapters if not names or one in asked]
        wrong = build_files(files, chapters, pairs)
        if names:
            built = ", ".join(chapter.name for chapter in chapters)
            said = f"✓ {built}: fresh. Other chapters were not built."
    except CourseError as error:  # the sources cannot be read, or there is no such chapter
        wrong = str(error).splitlines()
    for line in [f"✗ {error}" for error in dict.fromkeys(wrong)] or [said]:
        files.say(line)
    return not wrong


def build_files(files: "Files", chapters: list[Chapter], pairs: bool) -> list[str]:
    """Build some chapters. Return the errors. Raise CourseError if the sources cannot be read."""
    project, course = files.project, files.project.course
    if wrong := course_errors(project, chapters):
        return wrong
    files.write(project.exercises / "course.json", course.public_json().encode())
    if (own := project.graders / FILE).exists():
        files.write(project.exercises / FILE, own.read_bytes())
    for chapter in chapters:
        files.write_stub(chapter)
        for path, content in mistakes_files(project, chapter):
            files.write(path, content)
    recordings, made = recordings_of(project, chapters), project.graders / BUILT
    sources = {one.name: sources_of(project.root, course, one.name) for one in chapters}
    if wrong := record_all([one for one in recordings if is_due(one, pairs)], pairs, files):
        return wrong
    built = read_built(project.graders) | sources
    write_changed(made, json.dumps(built, indent=1, sort_keys=True).encode())
    files.paths += [made, *(one.path for one in recordings)]
    wrong = files.tidied() if len(chapters) == len(course.chapters) else []
    for chapter in chapters:
        for path, content in handout_files(project, chapter):
            files.write(path, content)
    return wrong


class Files:
    """The files of a build. paths: those that it wrote or left unchanged."""

    def __init__(self, project: Project, console: Console):
        self.project, self.console = project, console
        self.paths: list[Path] = []

    def say(self, what: str, path: Path | None = None) -> None:
        """Print a line, which may end in a path."""
        line = f"{what} {path.relative_to(self.project.root)}" if path else what
        self.console.print(escape(line), soft_wrap=True)

    def write(self, path: Path, content: bytes) -> None:
        """Write a file if it changed."""
        self.paths.append(path)
        if write_changed(path, content):
            self.say("wrote", path)

    def write_stub(self, chapter: Chapter) -> None:
        """Write a chapter's stub, and its original. Keep a copy of answers that it replaces."""
        root, path = self.project.root, self.project.exercises / f"{chapter.name}.py"
        content = stub_text(lesson_of(self.project, chapter)).encode()
        original = original_of(root, chapter.name)
        built = [content, *([original.read_bytes()] if original.is_file() else [])]
        if path.is_file() and path.read_bytes() not in built:
            kept = keep_copy(root, path)
            self.say(f"{path.name} was changed here or is older; a copy is kept:", kept)
        self.write(path, content)
        write_changed(original, content)

    def tidied(self) -> list[str]:
        """Delete recordings that no exercise needs any more. Return a message for each stray file.

        These are unexpected files in the folders of exercises and solutions. Files of editors and
        test runs may be there.
        """
        project, root = self.project, self.project.root
        for folder in (project.graders, project.exercises):
            for path in sorted((folder / "references").rglob("*")):
                if path.is_file() and path not in self.paths:
                    path.unlink()
                    self.say("deleted", path)
        known = {*self.paths, *(project.solution(one.name) for one in project.course.chapters)}
        places = [*project.exercises.glob("[!.]*"), *(root / "solutions").glob("[!.]*")]
        stray = [p for p in places if p.is_file() and p.suffix != ".pyc" and p not in known]
        return [f"{path.relative_to(root)} does not belong there" for path in sorted(stray)]


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file if it has another content. Return True if it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    write_file(path, content)
    return True


def mistakes_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the files with messages and prices of a chapter's mistakes, one for each side."""
    found = {one.name: known(project, one.name) for one in chapter.exercises}
    priced = {name: [m for m in some if m.price is not None] for name, some in found.items()}
    about = {
        "messages": {m.name: m.message for some in found.values() for m in some},
        "prices": {name: {m.name: m.price for m in some} for name, some in priced.items()},
    }
    for folder in (project.graders, project.exercises):
        yield mistakes_path(folder, chapter.name), f"{json.dumps(about, indent=1)}\n".encode()


# --- recordings -------------------------------------------------------------------------------


def is_due(recording: Recording, pairs: bool) -> bool:
    """Return True if a recording is missing, damaged or outdated, or lacks the pairs asked for."""
    if key_in(recording.path) != recording.key:
        return True
    return pairs and not recording.hidden and not read_part(recording.path, "has_pairs")


def record_all(due: list[Recording], pairs: bool, files: Files) -> list[str]:
    """Record exercises side by side, the longest first. Return the errors."""
    # The bar is redrawn for each exercise and not by a thread: a process with threads cannot be
    # forked.
    bar = partial(track, description="recording", auto_refresh=False, transient=True)
    console, wrong = files.console, list[str]()
    with side_by_side(warm=True) as pool:
        longest_first = sorted(due, key=lambda one: -len(one.mistakes) * len(one.cases))
        running = {
            pool.submit(
                record, files.project.root, one.chapter, one.exercise, one.hidden, pairs
            ): one
            for one in longest_first
        }
        done, hidden = as_completed(running), not console.is_terminal
        for future in bar(done, total=len(running), console=console, disable=hidden):
            one = running[future]
            try:
                found = future.result()
            except BrokenExecutor:
                why = "a known mistake in it, or in one built at the same time, ended the process"
                found = [f"{one.lesson}: {one.exercise}: {why}"]
            if not found:
                files.say("wrote", one.path)
            wrong += found
    return wrong


project_of_worker = lru_cache(maxsize=1)(Project)  # it reads the course's files once


def record(root: Path, chapter: str, exercise: str, hidden: bool, pairs: bool) -> list[str]:
    """Record an exercise and a side into its file. Return the errors, one sentence each."""
    torch.set_num_threads(1)  # a worker need not be a fork
    project = project_of_worker(root)
    try:
        recording = Recording(project, chapter, exercise, hidden)
        _ = recording.texts  # before it runs: authors save other files meanwhile
        prints, has_all = singles_of(recording), True
        if not hidden:  # grading makes the pair that it needs
            prints, has_all = with_pairs(recording, prints, pairs)
        parts, tensors = stored_references(recording.with_unfixed)
        parts |= {"fingerprints": stored_form(prints), "has_pairs": has_all}
        if hidden:  # the solution with the edits of its mistakes, for grading
            edits = {name: one.edits for name, one in recording.mistakes.items()}
            parts["sources"] = {"text": recording.source, "edits": edits}
        store(recording.path, recording.key, parts, tensors)
    except CourseError as error:
        return str(error).splitlines()
    except Exception as error:  # raised by the course's own code, such as a signature
        said = f"recording it ends in {type(error).__name__}: {error}"
        return [f"{project.solution(chapter)}: {exercise}: {said}"]
    return []


# --- mistakes told apart, alone and two at once ------------------------------------------------

# Pairs of mistakes are stored in `graders/pairs/<exercise>.json.xz`. Git tracks these files because
# they take minutes to make. They hold fingerprints on public cases, of single mistakes and pairs.
# The pairs are valid while the single mistakes have the same edits and values. No facts are stored,
# because those of a pair are the facts of both.


def twin_of(imprints: Imprints, others: Iterable[Fingerprint], facts: bool = True) -> Names | None:
    """Return the mistakes of the first fingerprint that matches these imprints; None without one.

    facts: False to compare values only.
    """
    for other in others:
        if matches(other, imprints) and not (facts and facts_of(other.imprints, imprints)):
            return other.mistakes
    return None


def singles_of(recording: Recording) -> list[Fingerprint]:
    """Return the fingerprints that identify a mistake.

    A shared mistake is left out if it has the results of the solution or of an earlier mistake.
    Raise CourseError if one of the exercise's own mistakes has them. Learners' cases need not tell
    two mistakes apart: there the first one's name is given.
    """
    found, wrong = [Fingerprint((), recording.right)], []
    for name, mistake in recording.mistakes.items():
        single = recording.single(name)
        twin = twin_of(single.imprints, found)
        if twin is None:
            found.append(single)
        elif not mistake.shared and (recording.hidden or not twin):
            similar = " and ".join(twin) or "a right answer"
            where = f"{mistake.place}: {recording.exercise}: {name}"
            wrong.append(f"{where} looks like {similar}")
    if wrong:
        raise CourseError("\n".join(wrong))
    return found[1:]


def with_pairs(
    recording: Recording, singles: list[Fingerprint], asked: bool
) -> tuple[list[Fingerprint], bool]:
    """Return the fingerprints of single mistakes and of pairs, and True if pairs are included.

    Stored pairs are reused as long as their single mistakes have the same edits and results. Those
    of new and rewritten mistakes are made and stored if they are asked for.
    """
    path, edits = recording.pairs_path, recording.edits
    changing = [one.mistakes[0] for one in Known(recording.right, singles).changing]
    known, pairs = read_pairs(path, singles, edits)
    new = [pair for pair in combinations(changing, 2) if not known.issuperset(pair)]
    if new and asked:
        pairs = [one for one in pairs if twin_of(one.imprints, singles, facts=False) is None]
        pairs += made_pairs(recording, singles, new)
        pairs.sort(key=lambda one: sorted(map(changing.index, one.mistakes)))
        write_pairs(path, singles, pairs, edits)
    return [*singles, *pairs], asked or not new


def made_pairs(
    recording: Recording, singles: list[Fingerprint], names: Iterable[Names]
) -> list[Fingerprint]:
    """Run pairs of mistakes. Return those whose results match no single mistake.

    Two pairs with matching results are both returned: neither is named, but their points are known.
    """
    right, made = Fingerprint((), recording.right), list[Fingerprint]()
    for pair in names:
        with suppress(EditError):  # both edit the same text
            imprints = recording.imprints(recording.seen(pair)[1])
            if twin_of(imprints, [right, *singles], facts=False) is None:
                made.append(without_facts(Fingerprint(pair, imprints)))
    return made


def without_facts(one: Fingerprint) -> Fingerprint:
    """Return the values of a fingerprint alone."""
    values = {case: replace(imprint, facts=()) for case, imprint in one.imprints.items()}
    return Fingerprint(one.mistakes, values)


def read_pairs(
    path: Path, singles: list[Fingerprint], edits: Mapping[str, str]
) -> tuple[set[str], list[Fingerprint]]:
    """Return the names of the single mistakes that were combined, and their pairs.

    Both are empty if the file is missing or damaged, or if one of these mistakes has other results.
    edits: a digest of each mistake's edits. One that is rewritten may fit beside others now.
    """
    try:
        held = json.loads(lzma.decompress(path.read_bytes()))
        stored, before = read_prints(held), held["edits"]
    except (OSError, EOFError, lzma.LZMAError, ValueError, KeyError, IndexError):
        return set(), []
    now = {one.mistakes: one.imprints for one in singles}
    alone = [one for one in stored if len(one.mistakes) == 1]
    if not all(one.mistakes in now and matches(one, now[one.mistakes]) for one in alone):
        return set(), []
    names = {one.mistakes[0] for one in alone}
    known = {name for name in names if before.get(name) == edits[name]}
    pairs = (one for one in stored if len(one.mistakes) == 2)
    return known, [one for one in pairs if known.issuperset(one.mistakes)]


def write_pairs(
    path: Path, singles: list[Fingerprint], pairs: list[Fingerprint], edits: Mapping[str, str]
) -> None:
    """Write pairs with the single mistakes. The same fingerprints give the same bytes."""
    alone = {one.mistakes[0]: edits[one.mistakes[0]] for one in singles}
    stored = stored_form([*map(without_facts, singles), *pairs]) | {"edits": alone}
    text = json.dumps(stored, separators=(",", ":"))
    write_file(path, lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


# --- a build on every save --------------------------------------------------------------------


def author(root: Path) -> None:
    """Build a course, and build it again on every save, until interrupted.

    Each build runs in a fork of this process, which has already imported the slow packages but no
    code of the course. Each build therefore reads the current course. A saved change to the engine
    has no effect.
    """
    begin = multiprocessing.get_context("fork" if sys.platform == "linux" else None).Process
    changed: list[Path] = []
    while True:
        seen = look(root)
        process = begin(target=build_and_say, args=(root, changed))
        process.start()
        try:
            process.join()
        finally:  # after an interruption, end the build as well
            process.terminate()
        while (now := look(root)) == seen:
            time.sleep(0.1)
        changed = sorted(p for p in seen.keys() | now.keys() if seen.get(p) != now.get(p))


def look(root: Path) -> dict[Path, tuple[int, int]]:
    """Return the time of the last change and the size of each of the author's files."""
    paths = (path for pattern in WRITTEN for path in root.glob(pattern))
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.exists()}


def build_and_say(root: Path, changed: list[Path]) -> None:
    """Build the chapters that some files may have changed, and report the result and the time."""
    sys.dont_write_bytecode = True  # it would hide a second save within the same second
    begun, console = time.monotonic(), Console(highlight=False)
    for path in changed:
        console.print(f"[bold]{escape(str(path.relative_to(root)))}[/bold] was saved")
    project, names = Project(root), set[str]()
    try:
        with suppress(CourseError):  # the build reports it
            chapters = {chapter.name for chapter in project.course.chapters}
            found = [chapters & {path.stem, path.parent.name} for path in changed]
            names = set().union(*found) if all(found) else names  # another file may concern all
        build(project, names, False, console)
    except KeyboardInterrupt:  # the parent process was interrupted as well and reports it
        os._exit(130)
    console.print(f"[dim]{time.monotonic() - begun:.1f} s; waiting for the next save[/dim]")
