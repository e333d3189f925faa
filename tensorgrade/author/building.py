"""Build a course: the learners' files, and the recording of each exercise and side.

Each file is written only if its content changes. A recording is written as soon as it is made, so
an interrupted build keeps the finished ones.
"""

import gc
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Collection, Iterator
from concurrent.futures import BrokenExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from ..built import built_path, sources_of, with_chapters
from ..course import Chapter, CourseError
from ..exchange.references import stored_form as stored_references
from ..exchange.stored import read_part, store
from ..exchange.stored_key import key_in
from ..folders import keep_copy, original_of, write_file
from ..judging.checks import FILE
from ..processes import side_by_side
from ..project import Project
from ..recognition.fingerprints import mistakes_path
from ..recognition.fingerprints import stored_form as stored_fingerprints
from .errors import course_errors
from .handouts import CHECKS, handout_files
from .lessons import lesson_of, stub_text
from .mistakes import known, shared_mistakes, told_apart
from .pairs import singles_of, with_pairs
from .recording import Recording, recordings_of

FORKS = sys.platform == "linux"
SECONDS_BETWEEN_LOOKS = 0.1
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
        chapters = chapters_with(project, names)
        wrong = build_files(files, chapters, pairs)
        if names:
            built = ", ".join(chapter.name for chapter in chapters)
            said = f"✓ {built}: fresh. Other chapters were not built."
    except CourseError as error:  # the sources cannot be read
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
    recordings, made = recordings_of(project, chapters), built_path(project.graders)
    sources = {one.name: sources_of(project.root, course, one.name) for one in chapters}
    if wrong := record_all([one for one in recordings if is_due(one, pairs)], pairs, files):
        return wrong
    write_changed(made, with_chapters(project.graders, sources))
    is_whole = len(chapters) == len(course.chapters)
    if is_whole:
        files.delete_others([made, *(one.path for one in recordings)])
    for chapter in chapters:
        for path, content in handout_files(project, chapter):
            files.write(path, content)
    return [*left_out_everywhere(project), *files.strays()] if is_whole else []


def chapters_with(project: Project, names: Collection[str]) -> list[Chapter]:
    """Return the named chapters, and those of named exercises, in order; all without names.

    Raise CourseError for an unknown name.
    """
    course = project.course
    asked = [course.chapter_called(name) or course.exercise(name)[0] for name in names]
    return [one for one in course.chapters if not names or one in asked]


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

    def delete_others(self, recorded: list[Path]) -> None:
        """Delete files in the folders of recordings that no exercise needs any more."""
        for folder in (self.project.graders, self.project.exercises):
            for path in sorted((folder / "references").rglob("*")):
                if path.is_file() and path not in recorded and path not in self.paths:
                    path.unlink()
                    self.say("deleted", path)

    def strays(self) -> list[str]:
        """Return a message for each stray file or folder.

        These are unexpected files in the folders of exercises and solutions, and handed-out folders
        of chapters that no longer exist. Other nbgrader assignments are left alone. Files of
        editors and test runs may be there.
        """
        project, root = self.project, self.project.root
        known = {*self.paths, *(project.solution(one.name) for one in project.course.chapters)}
        places = [*project.exercises.glob("[!.]*"), *(root / "solutions").glob("[!.]*")]
        stray = [p for p in places if p.is_file() and p.suffix != ".pyc" and p not in known]
        stray += [path.parent for path in root.glob(f"source/*/{CHECKS}") if path not in known]
        return [f"{path.relative_to(root)} does not belong there" for path in sorted(stray)]


def write_changed(path: Path, content: bytes) -> bool:
    """Write a file if it has another content. Return True if it was written."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return True


def mistakes_files(project: Project, chapter: Chapter) -> Iterator[tuple[Path, bytes]]:
    """Yield the files with messages and prices of a chapter's mistakes, one for each side."""
    mistakes = [(one.name, m) for one in chapter.exercises for m in known(project, one.name)]
    prices: dict[str, dict[str, float]] = {one.name: {} for one in chapter.exercises}
    for exercise, one in mistakes:
        if one.price is not None:
            prices[exercise][one.name] = one.price
    about = {"messages": {one.name: one.message for _, one in mistakes}, "prices": prices}
    for folder in (project.graders, project.exercises):
        yield mistakes_path(folder, chapter.name), f"{json.dumps(about, indent=1)}\n".encode()


# --- recordings -------------------------------------------------------------------------------


def is_due(recording: Recording, pairs: bool) -> bool:
    """Return True if a recording is missing, damaged or outdated, or lacks the pairs asked for."""
    is_stored = key_in(recording.path) == recording.key
    return not is_stored or (pairs and not recording.hidden and not has_pairs(recording))


def has_pairs(recording: Recording) -> bool:
    """Return True if the stored fingerprints of an exercise include its pairs of mistakes."""
    with suppress(CourseError):
        return bool(read_part(recording.path, "has_pairs"))
    return False


def record_all(due: list[Recording], pairs: bool, files: Files) -> list[str]:
    """Record exercises side by side, the longest first. Return the errors.

    The bar on a terminal is redrawn for each one and not by a thread: a process with threads cannot
    be forked.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    hidden = not files.console.is_terminal
    bar = Progress(
        *columns, console=files.console, auto_refresh=False, transient=True, disable=hidden
    )
    wrong: list[str] = []
    with side_by_side(None, torch.set_num_threads, 1, warm=True) as pool, bar:
        longest_first = sorted(due, key=lambda one: -len(one.mistakes) * len(one.cases))
        running = {pool.submit(record, one, pairs): one for one in longest_first}
        for future in bar.track(as_completed(running), len(running), description="recording"):
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


def record(recording: Recording, pairs: bool) -> list[str]:
    """Record an exercise and a side into its file. Return the errors, one sentence each.

    pairs: as in `build`.
    """
    try:
        _ = recording.texts  # before it runs: authors save other files meanwhile
        found = singles_of(recording)
        prints, has_all = found.all[1:], True
        if not recording.hidden:  # grading makes the pair that it needs
            prints, has_all = with_pairs(recording, found, pairs)
        parts, tensors = stored_references(recording.with_unfixed)
        parts |= {"fingerprints": stored_fingerprints(prints), "has_pairs": has_all}
        if recording.hidden:  # the solution with the edits of its mistakes, for grading
            edits = {name: one.edits for name, one in recording.mistakes.items()}
            parts["sources"] = {"text": recording.source, "edits": edits}
        store(recording.path, recording.key, parts, tensors)
    except CourseError as error:
        return str(error).splitlines()
    except Exception as error:  # raised by the course's own code, such as a signature
        said = f"recording it ends in {type(error).__name__}: {error}"
        return [f"{recording.lesson}: {recording.exercise}: {said}"]
    return []


def left_out_everywhere(project: Project) -> list[str]:
    """Return a sentence for each shared mistake that the hidden cases of no exercise tell apart."""
    names = project.course.exercise_names
    kept = {one.name for name in names for one in told_apart(project, name)}
    return [
        f"{place}: {name} is left out everywhere: in each exercise its text is not there exactly "
        "once, or it changes nothing, or looks like an earlier mistake"
        for name, place in {one.name: one.place for one in shared_mistakes(project)}.items()
        if name not in kept
    ]


# --- a build on every save --------------------------------------------------------------------


def author(root: Path) -> None:
    """Build a course, and build it again on every save, until interrupted.

    Each build runs in a fork of this process, which has already imported the slow packages but no
    code of the course. Each build therefore reads the current course. A saved change to the engine
    has no effect.
    """
    forks = multiprocessing.get_context("fork").Process if FORKS else multiprocessing.Process
    changed: list[Path] = []
    while True:
        seen = look(root)
        process = forks(target=build_and_say, args=(root, changed))
        process.start()
        try:
            process.join()
        finally:  # after an interruption, end the build as well
            process.terminate()
        while (now := look(root)) == seen:
            time.sleep(SECONDS_BETWEEN_LOOKS)
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
            names = concerned(project, changed)
        build(project, names, False, console)
    except KeyboardInterrupt:  # the parent process was interrupted as well and reports it
        os._exit(130)
    console.print(f"[dim]{time.monotonic() - begun:.1f} s; waiting for the next save[/dim]")


def concerned(project: Project, changed: list[Path]) -> set[str]:
    """Return the chapters whose own files changed; none, which means all, if another one did."""
    chapters = {chapter.name for chapter in project.course.chapters}
    found = {path: chapters & {path.stem, path.parent.name} for path in changed}
    return set().union(*found.values()) if all(found.values()) else set()
